#pragma once
#include <stddef.h>

int printf(const char *format, ...);

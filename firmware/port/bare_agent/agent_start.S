/* The start of the bare port, with the exceptions of this folder (fault.S). */
#define OWN_FAULT
#include "start.S"

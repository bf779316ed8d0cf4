/* The vectors of the bare port; its exceptions lead to _fault of this folder. */
#include "vectors.S"

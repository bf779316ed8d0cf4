/* copy_vectors: whole vectors, negative bytes to zero on the way if asked. See copy_taps.h.
 *
 * void copy_vectors(const int8_t *from, int8_t *to, int32_t vectors, int32_t relu)
 */
#include "function.inc"

#define from a2
#define to a3
#define vectors a4
#define relu a5

    function copy_vectors, 32
    beqz    relu, .Lplain
    ee.zero.q q7
    loopnez vectors, .Lrelu_end
    ee.vld.128.ip q0, from, 16
    ee.vmax.s8 q0, q0, q7
    ee.vst.128.ip q0, to, 16
.Lrelu_end:
    retw.n
.Lplain:
    loopnez vectors, .Lplain_end
    ee.vld.128.ip q0, from, 16
    ee.vst.128.ip q0, to, 16
.Lplain_end:
    retw.n
    end_function copy_vectors

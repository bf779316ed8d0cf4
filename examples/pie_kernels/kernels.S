/* Vector kernels for the ESP32-S3 (PIE): pointers are 16-byte aligned, n is a multiple of 16. */

    .section .text.dot_s8, "ax"

/* int32_t dot_s8(const int8_t *x, const int8_t *w, int n, int shift)
 * The sum of products, kept in 40 bits, shifted right arithmetically and saturated to 32. */
    .align 4
    .global dot_s8
    .type dot_s8, @function
dot_s8:
    entry a1, 32
    ee.zero.accx
    srli a4, a4, 4
    loopgtz a4, .Ldot_end
    ee.vld.128.ip q0, a2, 16
    ee.vld.128.ip q1, a3, 16
    ee.vmulas.s8.accx q0, q1
.Ldot_end:
    ee.srs.accx a2, a5, 0
    retw
    .size dot_s8, . - dot_s8

    .section .iram1.add_relu_s8, "ax"

/* void add_relu_s8(const int8_t *a, const int8_t *b, int8_t *y, int n)
 * y = max(saturated a + b, 0); y may be a or b. */
    .align 4
    .global add_relu_s8
    .type add_relu_s8, @function
add_relu_s8:
    entry a1, 32
    ee.zero.q q2
    srli a5, a5, 4
    loopgtz a5, .Ladd_end
    ee.vld.128.ip q0, a2, 16
    ee.vld.128.ip q1, a3, 16
    ee.vadds.s8 q0, q0, q1
    ee.vmax.s8 q0, q0, q2
    ee.vst.128.ip q0, a4, 16
.Ladd_end:
    retw
    .size add_relu_s8, . - add_relu_s8

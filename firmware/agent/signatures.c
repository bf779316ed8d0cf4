/* Written by tools/agent_signatures.py from the specs in emu/kernels: signatures, and formulas of what each
 * takes and touches (docs/wire.md section 6), in the order of emu_kernel_table. */
#include "state.h"

const char *const agent_signatures[] = {
    "v <f>ii", /* rne_array */
    "v <f>fi", /* exp_array */
    "v <f>fi", /* ln_array */
    "v <f>f>fi", /* sincos_turn_array */
    "v <ff>f>fi", /* turns_array */
    "v <f>fi<f<f", /* gelu_array */
    "v <f>fi", /* silu_array */
    "v <f<f>fi", /* div_array */
    "v <f>fi", /* sqrt_array */
    "v <I>Ii", /* fmix32_array */
    "v =I>Ii", /* xorshift32_array */
    "v =I>fi", /* normal_array */
    "v <fiI=Q", /* digest_f32 */
    "v <biI=Q", /* digest_s8 */
    "v <BiI=Q", /* digest_u8 */
    "v <iiI=Q", /* digest_s32 */
    "v II=Q", /* digest_end */
    "I I<Bi", /* crc32_bytes */
    "i <fi>bi>fii>i", /* quantize_row_s8 */
    "v <f>bif", /* quantize_static_s8 */
    "i <f>bi>f", /* quantize_ternary_s8 */
    "i <bii<bi>ii", /* dot_rows_s8 */
    "i <bii<bi>ii", /* dot_rows_s8_c */
    "i <bii<biii>ii", /* gemm_s8 */
    "i <bii<biii>ii", /* gemm_s8_c */
    "i <bii<Bi>ii", /* dot_rows_ternary */
    "i <bii<Bi>ii", /* dot_rows_ternary_c */
    "i <b<Bii>i", /* dot_groups_int4 */
    "i <b<Bii>i", /* dot_groups_int4_c */
    "v <f<f>fi", /* add_array */
    "v <f<f>fi", /* multiply_array */
    "v =fif", /* scale_array */
    "v =fi", /* relu_in_place */
    "v =fi", /* silu_in_place */
    "v =fi<f<f", /* gelu_in_place */
    "v =fi<f<fii", /* modulate */
    "v =fi<f<fii", /* affine */
    "v =fi<fiii", /* residual_add */
    "v =fi<fi<fii", /* residual_gated */
    "v <f<f>fiff", /* ple_mix */
    "v =f<f<fifii", /* flow_step */
    "v <f>Bi", /* to_rgb */
    "v f<f>fi", /* time_embedding */
    "v =fiii<f", /* rope */
    "v <H>fi", /* half_array */
    "v <B<Hii>f", /* int4_row */
    "v <fiii>fi", /* patch */
    "v <fiiii>f", /* unpatch */
    "i <fi>fiii", /* layernorm */
    "i <fi<f>fiii", /* rmsnorm */
    "i <fiii>f", /* pool_rows */
    "i <f<f<fii>f", /* linear_f32 */
    "i <ii<fi<fi>f", /* embed_rows */
    "i <fi", /* argmax_f32 */
    "i <fif=I", /* sample_f32 */
    "i <bi<fi<bi<f<fii>fi>B", /* linear_q8 */
    "i <bi<fi<bi<f<fii>fi>B", /* linear_q8_c */
    "i <bi<fi<bi<fii=fi>B", /* accumulate_q8 */
    "i <bi<fi<bi<fii=fi>B", /* accumulate_q8_c */
    "i <fii<bi<f<fii>fi>B>i", /* linear_w8a8 */
    "i <fii<bi<f<f<bi<f<fiiii<f<f>fi>B>i", /* mlp_grouped */
    "i <fiii>bi>f>f>i", /* quantize_columns_s8 */
    "i <fiii>bi>f>i", /* softmax_s8 */
    "i <bi<fi<bi<fiif<bi<f>fi>B>i", /* attention_q8 */
    "i <bi<fi<bi<fiif<bi<f>fi>B>i", /* attention_q8_c */
    "i <f<f<fiiif>fi>B>i", /* attention_s8 */
    "i <f<fiiii=b=f=b=f>b>i", /* kv8_write */
    "i <fiiii<b<f<b<ff>f>B>i", /* attention_kv8 */
    "i <biiiiif<bi<f<fif>bii>B", /* conv3x3_s8 */
    "i <biiiiif<bi<f<fif>bii>B", /* conv3x3_s8_c */
    "i <biiiiif<bi<f<fiff=bii>B", /* conv3x3_add_s8 */
    "i <biiiiif<bi<f<fiff=bii>B", /* conv3x3_add_s8_c */
    "i <biiiiif<bi<f<fi>fii>B", /* conv3x3_f32 */
    "i <biiiiif<bi<f<fi>fii>B", /* conv3x3_f32_c */
    "i <bii<Biiiff>fi>i", /* linear_ternary */
    "i <bii<Biiiff>fi>i", /* linear_ternary_c */
    "i <fii<Biif>fi>B", /* bitlinear */
    "i <bfi<Bi<Hii>f>i", /* linear_int4_q8 */
    "i <bfi<Bi<Hii>f>i", /* linear_int4_q8_c */
    "i <fi<Bi<Hii>f>B", /* linear_int4 */
};

const char *const agent_extents[] = {
    "c4*,c4*,c1+", /* rne_array */
    "c4*,c4*,c1+", /* exp_array */
    "c4*,c4*,c1+", /* ln_array */
    "d4*,d4*,d4*,d1+", /* sincos_turn_array */
    "e4*,,e4*,e4*,e1+", /* turns_array */
    "c4*,c4*,c1+,4096,4096", /* gelu_array */
    "c4*,c4*,c1+", /* silu_array */
    "d4*,d4*,d4*,d1+", /* div_array */
    "c4*,c4*,c1+", /* sqrt_array */
    "c4*,c4*,c1+", /* fmix32_array */
    "4,c4*,c1+", /* xorshift32_array */
    "4,c4*,c1+", /* normal_array */
    "b4*,b1+,,8", /* digest_f32 */
    "b,b1+,,8", /* digest_s8 */
    "b,b1+,,8", /* digest_u8 */
    "b4*,b1+,,8", /* digest_s32 */
    ",b1+,8", /* digest_end */
    ",c,c1+", /* crc32_bytes */
    "f1-b*g+f0>*4*,b1+,f1-d*g+f0>*,d1+,f4*,f1+,g,4", /* quantize_row_s8 */
    "c4*,c,c1+,", /* quantize_static_s8 */
    "c4*,c,c,4", /* quantize_ternary_s8 */
    "c1-b*0 0e-16/-16*+c0>*,b1+,c1+,0 0e-16/-16*,e1+133145e>*,c1-g*1+c0>*4*,g1+", /* dot_rows_s8 */
    "c1-b*0 0e-16/-16*+c0>*,b1+,c1+,0 0e-16/-16*,e1+133145e>*,c1-g*1+c0>*4*,g1+", /* dot_rows_s8_c */
    "c1-b*0 0g-16/-16*+c0>*,b1+,c1+,f1-e*0 0g-16/-16*+f0>*,e1+,f1+,g1+133145g>*,c1-i*f+c0>*4*,i1+", /* gemm_s8 */
    "c1-b*0 0g-16/-16*+c0>*,b1+,c1+,f1-e*0 0g-16/-16*+f0>*,e1+,f1+,g1+133145g>*,c1-i*f+c0>*4*,i1+", /* gemm_s8_c */
    "c1-b*0 0e-16/-16*+c0>*,b1+,c1+,0 0 0 0e-4/--16/-16*,e1+133145e>*,c1-g*1+c0>*4*,g1+", /* dot_rows_ternary */
    "c1-b*e+c0>*,b1+,c1+,0 0 0 0e-4/--1/-1*,e1+133145e>*,c1-g*1+c0>*4*,g1+", /* dot_rows_ternary_c */
    "0 0c-16/-16*,0 0c1+2/-16/-16*,c1+133145c>*,d15-1d16%>*,0 0c-d/-4*", /* dot_groups_int4 */
    "c,0 0c1+2/-1/-1*,c1+133145c>*,d15-1d16%>*,0 0c-d/-4*", /* dot_groups_int4_c */
    "d4*,d4*,d4*,d1+", /* add_array */
    "d4*,d4*,d4*,d1+", /* multiply_array */
    "b4*,b1+,", /* scale_array */
    "b4*,b1+", /* relu_in_place */
    "b4*,b1+", /* silu_in_place */
    "b4*,b1+,4096,4096", /* gelu_in_place */
    "e1-b*f+e0>*4*,b1+,f4*,f4*,e1+,f1+", /* modulate */
    "e1-b*f+e0>*4*,b1+,f4*,f4*,e1+,f1+", /* affine */
    "e1-b*f+e0>*4*,b1+,e1-d*f+e0>*4*,d1+,e1+,f1+", /* residual_add */
    "f1-b*g+f0>*4*,b1+,f1-d*g+f0>*4*,d1+,g4*,f1+,g1+", /* residual_gated */
    "d4*,d4*,d4*,d1+,,", /* ple_mix */
    "d4*,d4*,d4*,d1+,,f1+,g", /* flow_step */
    "c4*,c,c1+", /* to_rgb */
    ",d4*,2d*4*,d1+", /* time_embedding */
    "bc*4*,b1+,c1+1c2%>*,d1+,c2/4*", /* rope */
    "c2*,c4*,c1+", /* half_array */
    "0 0c1+2/-1/-1*,0 0c-d/-2*,c1+,d,c4*", /* int4_row */
    "bc*d*4*,b1+1b2%>*,c1+1c2%>*,d1+,bc*4/1-f*4d*+bc*4/0>*4*,f1+", /* patch */
    "cd*4/1-b*4e*+cd*4/0>*4*,b1+,c1+1c2%>*,d1+1d2%>*,e1+,cd*e*4*", /* unpatch */
    "e1-b*f+e0>*4*,b1+,e1-d*f+e0>*4*,d1+,e1+,f", /* layernorm */
    "f1-b*g+f0>*4*,b1+,g4*,f1-e*g+f0>*4*,e1+,f1+,g", /* rmsnorm */
    "c1-b*d+c0>*4*,b1+,c,d1+,d4*", /* pool_rows */
    "e4*,de*4*,d4*,d1+,e1+,d4*", /* linear_f32 */
    "b4*,b1+,df*4*,d,bf*4*,f1+,bf*4*", /* embed_rows */
    "b4*,b1+", /* argmax_f32 */
    "b4*,b1+,,4", /* sample_f32 */
    "d1-b*0 0j-16/-16*+d0>*,b1+,d4*,d1+,i1-f*0 0j-16/-16*+i0>*,f1+,i4*,i4*,i1+,j1+133145j>*,d1-l*i+d0>*4*,l1+,8d*", /* linear_q8 */
    "d1-b*0 0j-16/-16*+d0>*,b1+,d4*,d1+,i1-f*0 0j-16/-16*+i0>*,f1+,i4*,i4*,i1+,j1+133145j>*,d1-l*i+d0>*4*,l1+,8d*", /* linear_q8_c */
    "d1-b*0 0i-16/-16*+d0>*,b1+,d4*,d1+,h1-f*0 0i-16/-16*+h0>*,f1+,h4*,h1+,i1+133145i>*,d1-k*h+d0>*4*,k1+,8d*", /* accumulate_q8 */
    "d1-b*0 0i-16/-16*+d0>*,b1+,d4*,d1+,h1-f*0 0i-16/-16*+h0>*,f1+,h4*,h1+,i1+133145i>*,d1-k*h+d0>*4*,k1+,8d*", /* accumulate_q8_c */
    "c1-b*i+c0>*4*,b1+,c1+,h1-e*0 0i-16/-16*+h0>*,e1+,h4*,h4*,h1+,i133145i>*,c1-k*h+c0>*4*,k1+,c0 0i-16/-16*12+*,4", /* linear_w8a8 */
    "c1-b*l+c0>*4*,b1+,c1+,m1-e*0 0l-16/-16*+m0>*,e1+,m4*,m4*,n1-i*m+n0>*,i1+,n4*,n4*,l133145l>*,m1+,n1+,o15-1o16%>*,4096,4096,c1-s*n+c0>*4*,s1+,c0 0l-16/-16*5o*+16+*,4", /* mlp_grouped */
    "c1-b*d+c0>*4*,b1+,c,d1+,d1-f*0 0c-16/-16*+d0>*,f1+,d4*,c4*,4", /* quantize_columns_s8 */
    "c1-b*d+c0>*4*,b1+,c1+,d,c1-f*0 0d-16/-16*+c0>*,f1+,c4*,4", /* softmax_s8 */
    "d1-b*i+d0>*,b1+,d4*,d1+,h1-f*i+h0>*,f1+,h4*,h133145h>*,i15-1i16%>*,,i1-l*0 0h-16/-16*+i0>*,l1+,i4*,d1-o*i+d0>*4*,o1+,5 0 0h-16/-16**4i*+,4", /* attention_q8 */
    "d1-b*i+d0>*,b1+,d4*,d1+,h1-f*i+h0>*,f1+,h4*,h133145h>*,i15-1i16%>*,,i1-l*0 0h-16/-16*+i0>*,l1+,i4*,d1-o*i+d0>*4*,o1+,5 0 0h-16/-16**4i*+,4", /* attention_q8_c */
    "e1-d*f+e0>*4*,e1-d*f+e0>*4*,e1-d*f+e0>*4*,d1+,e133145e>*,f15-1f16%>*,,e1-i*f+e0>*4*,i1+,2e*0 0e-16/-16*+f*17 0 0e-16/-16**+8f*+,4", /* attention_s8 */
    "cd*4*,cd*4*,c1+,d15-1d16%>*,e1+,f15-1f16%>*,cd*f*,cf*4*,cd*f*,cf*4*,d,4", /* kv8_write */
    "bc*4*,b1+,c15-1c16%>*,d1+,e15-1e16%>*,bc*e*,be*4*,bc*e*,be*4*,,bc*4*,5 0 0d-16/-16**5c*+,4", /* attention_kv8 */
    "bc*d*,b,c,d14794d>*,e1+,f1+,,l1-i*0 0 9d*-16/-16*+l0>*,i1+,l4*,l4*,l,,be<ce<*l*,o1+,p1+,ce<0 0 9d*-16/-16*4l*+12+*", /* conv3x3_s8 */
    "bc*d*,b,c,d14794d>*,e1+,f1+,,l1-i*0 0 9d*-16/-16*+l0>*,i1+,l4*,l4*,l,,be<ce<*l*,o1+,p1+,ce<0 0 9d*-16/-16*4l*+12+*", /* conv3x3_s8_c */
    "bc*d*,b,c,d14794d>*,e1+,f1+,,l1-i*0 0 9d*-16/-16*+l0>*,i1+,l4*,l4*,l,,,be<ce<*l*,p1+,q1+,ce<0 0 9d*-16/-16*4l*+12+*", /* conv3x3_add_s8 */
    "bc*d*,b,c,d14794d>*,e1+,f1+,,l1-i*0 0 9d*-16/-16*+l0>*,i1+,l4*,l4*,l,,,be<ce<*l*,p1+,q1+,ce<0 0 9d*-16/-16*4l*+12+*", /* conv3x3_add_s8_c */
    "bc*d*,b,c,d14794d>*,e1+,f1+,,l1-i*0 0 9d*-16/-16*+l0>*,i1+,l4*,l4*,l,be<ce<*l*4*,n1+,o1+,ce<0 0 9d*-16/-16*4l*+12+*", /* conv3x3_f32 */
    "bc*d*,b,c,d14794d>*,e1+,f1+,,l1-i*0 0 9d*-16/-16*+l0>*,i1+,l4*,l4*,l,be<ce<*l*4*,n1+,o1+,ce<0 0 9d*-16/-16*4l*+12+*", /* conv3x3_f32_c */
    "c1-b*0 0g-16/-16*+c0>*,b1+,c1+,f1-e*0 0 0 0g-4/--16/-16*+f0>*,e1+,f1+,g1+133145g>*,,,c1-k*f+c0>*4*,k1+,c4*", /* linear_ternary */
    "c1-b*g+c0>*,b1+,c1+,f1-e*0 0 0 0g-4/--1/-1*+f0>*,e1+,f1+,g1+133145g>*,,,c1-k*f+c0>*4*,k1+,c4*", /* linear_ternary_c */
    "bc*4*,b,c15-1c16%>*,f1-e*0 0 0 0c-4/--16/-16*+f0>*,e1+,f1+,,b1-i*f+b0>*4*,i1+,bc4+*", /* bitlinear */
    "0 0c-16/-16*,,c1+133145c>*,h1-e*0 0c1+2/-16/-16*+h0>*,e1+,h0 0c-g/-*2*,g15-1g16%>*,h1+,h4*,0 0c-g/-4*", /* linear_int4_q8 */
    "c,,c1+133145c>*,h1-e*0 0c1+2/-1/-1*+h0>*,e1+,h0 0c-g/-*2*,g15-1g16%>*,h1+,h4*,0 0c-g/-4*", /* linear_int4_q8_c */
    "b4*,b133145b>*,g1-d*0 0b1+2/-16/-16*+g0>*,d1+,g0 0b-f/-*2*,f15-1f16%>*,g1+,g4*,0 0b-16/-16*4 0 0b-f/-*+", /* linear_int4 */
};

/* Written by tools/agent_probes.py from emu/link/probes.py.
 *
 * int32_t selftest_probe(uint32_t index, const uint8_t *in, uint8_t *out): loads the registers from `in`,
 * executes instruction `index`, stores them to `out`; a8 points to out + 272 + 64 + shift. Both 16-aligned,
 * 272 and 528 bytes. Returns 0; 1: no such instruction.
 */
    .section .text.selftest_probe, "ax", @progbits
    .balign 4
    .literal_position
    .global selftest_probe
    .type   selftest_probe, @function
selftest_probe:
    entry   a1, 48
    movi    a5, 73
    bgeu    a2, a5, .Lnone
    s32i    a0, a1, 0
    movi    a5, .Lstubs
    addx4   a5, a2, a5
    l32i    a5, a5, 0
    mov     a6, a3
    ee.vld.128.ip q0, a6, 16
    ee.vld.128.ip q1, a6, 16
    ee.vld.128.ip q2, a6, 16
    ee.vld.128.ip q3, a6, 16
    ee.vld.128.ip q4, a6, 16
    ee.vld.128.ip q5, a6, 16
    ee.vld.128.ip q6, a6, 16
    ee.vld.128.ip q7, a6, 16
    ee.ld.qacc_l.l.128.ip a6, 16
    ee.ld.qacc_l.h.32.ip a6, 16
    ee.ld.qacc_h.l.128.ip a6, 16
    ee.ld.qacc_h.h.32.ip a6, 16
    l32i    a7, a6, 0
    wur.accx_0 a7
    l32i    a7, a6, 4
    wur.accx_1 a7
    l32i    a7, a6, 8
    wsr.sar a7
    l32i    a7, a6, 12
    wur.sar_byte a7
    l32i    a7, a6, 16
    wur.fft_bit_width a7
    l32i    a9, a6, 20
    l32i    a10, a6, 24
    l32i    a11, a6, 28
    l32i    a12, a6, 32
    l32i    a8, a6, 36
    addmi   a13, a4, 256
    addi    a13, a13, 80
    add     a8, a8, a13
    lsi     f0, a6, 48
    lsi     f1, a6, 52
    lsi     f2, a6, 56
    lsi     f3, a6, 60
    lsi     f4, a6, 64
    lsi     f5, a6, 68
    lsi     f6, a6, 72
    lsi     f7, a6, 76
    l32i    a7, a6, 40
    rsr.cpenable a6
    s32i    a6, a1, 4
    wsr.cpenable a7
    rsync
    callx0  a5
    l32i    a7, a1, 4
    wsr.cpenable a7
    rsync
    mov     a6, a4
    ee.vst.128.ip q0, a6, 16
    ee.vst.128.ip q1, a6, 16
    ee.vst.128.ip q2, a6, 16
    ee.vst.128.ip q3, a6, 16
    ee.vst.128.ip q4, a6, 16
    ee.vst.128.ip q5, a6, 16
    ee.vst.128.ip q6, a6, 16
    ee.vst.128.ip q7, a6, 16
    ee.st.qacc_l.l.128.ip a6, 16
    ee.st.qacc_l.h.32.ip a6, 16
    ee.st.qacc_h.l.128.ip a6, 16
    ee.st.qacc_h.h.32.ip a6, 16
    rur.accx_0 a7
    s32i    a7, a6, 0
    rur.accx_1 a7
    s32i    a7, a6, 4
    rsr.sar a7
    s32i    a7, a6, 8
    rur.sar_byte a7
    s32i    a7, a6, 12
    rur.fft_bit_width a7
    s32i    a7, a6, 16
    s32i    a9, a6, 20
    s32i    a10, a6, 24
    s32i    a11, a6, 28
    s32i    a12, a6, 32
    addmi   a13, a4, 256
    addi    a13, a13, 80
    sub     a8, a8, a13
    s32i    a8, a6, 36
    ssi     f0, a6, 48
    ssi     f1, a6, 52
    ssi     f2, a6, 56
    ssi     f3, a6, 60
    ssi     f4, a6, 64
    ssi     f5, a6, 68
    ssi     f6, a6, 72
    ssi     f7, a6, 76
    l32i    a0, a1, 0
    movi    a2, 0
    retw
.Lnone:
    movi    a2, 1
    retw
    .size   selftest_probe, . - selftest_probe

    .balign 4
.Lprobe0: /* ee.srs.accx au=12,as=9,sel2=0 */
    .byte   0x94, 0x1C, 0x7E
    ret

    .balign 4
.Lprobe1: /* ee.srs.accx au=12,as=9,sel2=1 */
    .byte   0x94, 0x5C, 0x7E
    ret

    .balign 4
.Lprobe2: /* ee.srcmb.s8.qacc qu=0,as=9,sel2=0 */
    .byte   0x94, 0x7A, 0xCD
    ret

    .balign 4
.Lprobe3: /* ee.srcmb.s8.qacc qu=0,as=9,sel2=1 */
    .byte   0x94, 0x7E, 0xCD
    ret

    .balign 4
.Lprobe4: /* ee.srcmb.s16.qacc qu=0,as=9,sel2=0 */
    .byte   0x94, 0x72, 0xCD
    ret

    .balign 4
.Lprobe5: /* ee.srcmb.s16.qacc qu=0,as=9,sel2=1 */
    .byte   0x94, 0x76, 0xCD
    ret

    .balign 4
.Lprobe6: /* ee.vsr.32 qa=0,qs=1 */
    .byte   0x84, 0xBF, 0xCD
    ret

    .balign 4
.Lprobe7: /* ee.vsl.32 qa=0,qs=1 */
    .byte   0x04, 0xBF, 0xCD
    ret

    .balign 4
.Lprobe8: /* ee.vmul.s8 qz=0,qx=1,qy=2 */
    .byte   0x94, 0x31, 0x8E
    ret

    .balign 4
.Lprobe9: /* ee.vmul.u8 qz=0,qx=1,qy=2 */
    .byte   0xB4, 0x31, 0x8E
    ret

    .balign 4
.Lprobe10: /* ee.vmul.s16 qz=0,qx=1,qy=2 */
    .byte   0x84, 0x31, 0x8E
    ret

    .balign 4
.Lprobe11: /* ee.vmul.u16 qz=0,qx=1,qy=2 */
    .byte   0xA4, 0x31, 0x8E
    ret

    .balign 4
.Lprobe12: /* ee.vrelu.s8 qs=0,ax=10,ay=11 */
    .byte   0xB4, 0x5A, 0xCD
    ret

    .balign 4
.Lprobe13: /* ee.vrelu.s16 qs=0,ax=10,ay=11 */
    .byte   0xB4, 0x1A, 0xCD
    ret

    .balign 4
.Lprobe14: /* ee.vprelu.s8 qz=0,qx=1,qy=2,ay=11 */
    .byte   0xB4, 0x31, 0x8C
    ret

    .balign 4
.Lprobe15: /* ee.vprelu.s16 qz=0,qx=1,qy=2,ay=11 */
    .byte   0xB4, 0x11, 0x8C
    ret

    .balign 4
.Lprobe16: /* ee.cmul.s16 qz=0,qx=1,qy=2,sel4=0 */
    .byte   0x04, 0x11, 0x8E
    ret

    .balign 4
.Lprobe17: /* ee.cmul.s16 qz=0,qx=1,qy=2,sel4=1 */
    .byte   0x14, 0x11, 0x8E
    ret

    .balign 4
.Lprobe18: /* ee.cmul.s16 qz=0,qx=1,qy=2,sel4=2 */
    .byte   0x24, 0x11, 0x8E
    ret

    .balign 4
.Lprobe19: /* ee.cmul.s16 qz=0,qx=1,qy=2,sel4=3 */
    .byte   0x34, 0x11, 0x8E
    ret

    .balign 4
.Lprobe20: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=0 */
    .byte   0x8E, 0x69, 0xA0, 0xDC
    ret

    .balign 4
.Lprobe21: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=1 */
    .byte   0x8E, 0x69, 0xA8, 0xDC
    ret

    .balign 4
.Lprobe22: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=2 */
    .byte   0x8E, 0x69, 0xA0, 0xDD
    ret

    .balign 4
.Lprobe23: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=3 */
    .byte   0x8E, 0x69, 0xA8, 0xDD
    ret

    .balign 4
.Lprobe24: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=4 */
    .byte   0x8E, 0x69, 0xA0, 0xDE
    ret

    .balign 4
.Lprobe25: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=5 */
    .byte   0x8E, 0x69, 0xA8, 0xDE
    ret

    .balign 4
.Lprobe26: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=6 */
    .byte   0x8E, 0x69, 0xA0, 0xDF
    ret

    .balign 4
.Lprobe27: /* ee.fft.cmul.s16.ld.xp qu=5,as=8,ad=9,qz=0,qx=1,qy=2,sel8=7 */
    .byte   0x8E, 0x69, 0xA8, 0xDF
    ret

    .balign 4
.Lprobe28: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=0,upd4=0,sar4=1 */
    .byte   0x8E, 0x49, 0x23, 0xAA
    ret

    .balign 4
.Lprobe29: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=3,upd4=0,sar4=1 */
    .byte   0x8E, 0x59, 0xA3, 0xAA
    ret

    .balign 4
.Lprobe30: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=5,upd4=1,sar4=1 */
    .byte   0x8E, 0x69, 0xAB, 0xAA
    ret

    .balign 4
.Lprobe31: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=6,upd4=0,sar4=1 */
    .byte   0x8E, 0x79, 0x23, 0xAA
    ret

    .balign 4
.Lprobe32: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=7,upd4=2,sar4=1 */
    .byte   0x8E, 0x79, 0xA3, 0xAB
    ret

    .balign 4
.Lprobe33: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=6,upd4=3,sar4=1 */
    .byte   0x8E, 0x79, 0x2B, 0xAB
    ret

    .balign 4
.Lprobe34: /* ee.fft.cmul.s16.st.xp qx=1,qy=2,qv=3,as=8,ad=9,sel8=7,upd4=3,sar4=1 */
    .byte   0x8E, 0x79, 0xAB, 0xAB
    ret

    .balign 4
.Lprobe35: /* ee.fft.ams.s16.ld.incp qu=5,as=8,qz=0,qz1=3,qx=1,qy=2,qm=4,sel2=0 */
    .byte   0x8E, 0x4D, 0x2C, 0xD0
    ret

    .balign 4
.Lprobe36: /* ee.fft.ams.s16.ld.incp qu=5,as=8,qz=0,qz1=3,qx=1,qy=2,qm=4,sel2=1 */
    .byte   0x8E, 0x4D, 0x2C, 0xD2
    ret

    .balign 4
.Lprobe37: /* ee.vadds.s16 qa=0,qx=1,qy=2 */
    .byte   0x64, 0x11, 0x8E
    ret

    .balign 4
.Lprobe38: /* ee.vadds.s32 qa=0,qx=1,qy=2 */
    .byte   0x74, 0x11, 0x8E
    ret

    .balign 4
.Lprobe39: /* ee.vsubs.s8 qa=0,qx=1,qy=2 */
    .byte   0xF4, 0x31, 0x8E
    ret

    .balign 4
.Lprobe40: /* ee.vsubs.s16 qa=0,qx=1,qy=2 */
    .byte   0xD4, 0x31, 0x8E
    ret

    .balign 4
.Lprobe41: /* ee.vsubs.s32 qa=0,qx=1,qy=2 */
    .byte   0xE4, 0x31, 0x8E
    ret

    .balign 4
.Lprobe42: /* ee.vmulas.s8.qacc qx=1,qy=2 */
    .byte   0xC4, 0x31, 0x1A
    ret

    .balign 4
.Lprobe43: /* ee.vmulas.s8.accx qx=1,qy=2 */
    .byte   0xC4, 0x11, 0x1A
    ret

    .balign 4
.Lprobe44: /* ee.vmulas.s16.qacc qx=1,qy=2 */
    .byte   0x84, 0x31, 0x1A
    ret

    .balign 4
.Lprobe45: /* ee.vmulas.s16.accx qx=1,qy=2 */
    .byte   0x84, 0x11, 0x1A
    ret

    .balign 4
.Lprobe46: /* ee.ldxq.32 qu=0,qs=6,as=8,sel4=1,sel8=2 */
    .byte   0x8F, 0x9D, 0x78, 0xE0
    ret

    .balign 4
.Lprobe47: /* ee.vzip.8 qs0=1,qs1=1 */
    .byte   0xD4, 0x93, 0xCC
    ret

    .balign 4
.Lprobe48: /* ee.vadds.s8.ld.incp qu=0,as=8,qa=0,qx=1,qy=2 */
    .byte   0x8E, 0x5C, 0x10, 0xE0
    ret

    .balign 4
.Lprobe49: /* ee.fft.r2bf.s16.st.incp qa0=0,qx=1,qy=2,as=8,sar4=1 */
    .byte   0x8E, 0x44, 0xA8, 0xE8
    ret

    .balign 4
.Lprobe50: /* ee.fft.vst.r32.decp qv=1,as=8,sar2=1 */
    .byte   0x84, 0xB7, 0xCD
    ret

    .balign 4
.Lprobe51: /* ee.bitrev qa=0,ax=10 */
    .byte   0xA4, 0x7B, 0xCD
    ret

    .balign 4
.Lprobe52: /* ee.st.accx.ip as=8,imm8=0 */
    .byte   0x84, 0x00, 0x02
    ret

    .balign 4
.Lprobe53: /* rur.accx_1 r=12 */
    .byte   0x10, 0xC0, 0xE3
    ret

    .balign 4
.Lprobe54: /* ee.ldf.64.ip fu1=1,fu0=0,as=8,imm8=0 */
    .byte   0x8E, 0x14, 0x00, 0xE0
    ret

    .balign 4
.Lprobe55: /* ee.stf.64.ip fv1=1,fv0=0,as=8,imm8=0 */
    .byte   0x8E, 0x16, 0x00, 0xE0
    ret

    .balign 4
.Lprobe56: /* ee.vld.128.ip qu=0,as=8,imm16=16 */
    .byte   0x84, 0x01, 0x83
    ret

    .balign 4
.Lprobe57: /* ee.vst.128.ip qv=1,as=8,imm16=16 */
    .byte   0x84, 0x81, 0x8A
    ret

    .balign 4
.Lprobe58: /* ee.vld.l.64.ip qu=0,as=8,imm8=8 */
    .byte   0x84, 0x01, 0x89
    ret

    .balign 4
.Lprobe59: /* ee.vst.h.64.ip qv=1,as=8,imm8=8 */
    .byte   0x84, 0x81, 0x8B
    ret

    .balign 4
.Lprobe60: /* l32i t=12,s=8,imm=0 */
    .byte   0xC2, 0x28, 0x00
    ret

    .balign 4
.Lprobe61: /* ee.zero.q qa=0 */
    .byte   0xA4, 0x7F, 0xCD
    ret

    .balign 4
.Lprobe62: /* add.s fr=0,fs=1,ft=2 */
    .byte   0x20, 0x01, 0x0A
    ret

    .balign 4
.Lprobe63: /* add.s fr=0,fs=1,ft=2 */
    .byte   0x20, 0x01, 0x0A
    ret

    .balign 4
.Lprobe64: /* sub.s fr=0,fs=1,ft=2 */
    .byte   0x20, 0x01, 0x1A
    ret

    .balign 4
.Lprobe65: /* mul.s fr=0,fs=1,ft=2 */
    .byte   0x20, 0x01, 0x2A
    ret

    .balign 4
.Lprobe66: /* madd.s fr=0,fs=1,ft=2 */
    .byte   0x20, 0x01, 0x4A
    ret

    .balign 4
.Lprobe67: /* msub.s fr=0,fs=1,ft=2 */
    .byte   0x20, 0x01, 0x5A
    ret

    .balign 4
.Lprobe68: /* round.s r=12,fs=1,imm=0 */
    .byte   0x00, 0xC1, 0x8A
    ret

    .balign 4
.Lprobe69: /* trunc.s r=12,fs=1,imm=0 */
    .byte   0x00, 0xC1, 0x9A
    ret

    .balign 4
.Lprobe70: /* floor.s r=12,fs=1,imm=0 */
    .byte   0x00, 0xC1, 0xAA
    ret

    .balign 4
.Lprobe71: /* ceil.s r=12,fs=1,imm=0 */
    .byte   0x00, 0xC1, 0xBA
    ret

    .balign 4
.Lprobe72: /* utrunc.s r=12,fs=1,imm=0 */
    .byte   0x00, 0xC1, 0xEA
    ret

    .section .rodata.selftest_probe, "a", @progbits
    .balign 4
.Lstubs:
    .word   .Lprobe0
    .word   .Lprobe1
    .word   .Lprobe2
    .word   .Lprobe3
    .word   .Lprobe4
    .word   .Lprobe5
    .word   .Lprobe6
    .word   .Lprobe7
    .word   .Lprobe8
    .word   .Lprobe9
    .word   .Lprobe10
    .word   .Lprobe11
    .word   .Lprobe12
    .word   .Lprobe13
    .word   .Lprobe14
    .word   .Lprobe15
    .word   .Lprobe16
    .word   .Lprobe17
    .word   .Lprobe18
    .word   .Lprobe19
    .word   .Lprobe20
    .word   .Lprobe21
    .word   .Lprobe22
    .word   .Lprobe23
    .word   .Lprobe24
    .word   .Lprobe25
    .word   .Lprobe26
    .word   .Lprobe27
    .word   .Lprobe28
    .word   .Lprobe29
    .word   .Lprobe30
    .word   .Lprobe31
    .word   .Lprobe32
    .word   .Lprobe33
    .word   .Lprobe34
    .word   .Lprobe35
    .word   .Lprobe36
    .word   .Lprobe37
    .word   .Lprobe38
    .word   .Lprobe39
    .word   .Lprobe40
    .word   .Lprobe41
    .word   .Lprobe42
    .word   .Lprobe43
    .word   .Lprobe44
    .word   .Lprobe45
    .word   .Lprobe46
    .word   .Lprobe47
    .word   .Lprobe48
    .word   .Lprobe49
    .word   .Lprobe50
    .word   .Lprobe51
    .word   .Lprobe52
    .word   .Lprobe53
    .word   .Lprobe54
    .word   .Lprobe55
    .word   .Lprobe56
    .word   .Lprobe57
    .word   .Lprobe58
    .word   .Lprobe59
    .word   .Lprobe60
    .word   .Lprobe61
    .word   .Lprobe62
    .word   .Lprobe63
    .word   .Lprobe64
    .word   .Lprobe65
    .word   .Lprobe66
    .word   .Lprobe67
    .word   .Lprobe68
    .word   .Lprobe69
    .word   .Lprobe70
    .word   .Lprobe71
    .word   .Lprobe72

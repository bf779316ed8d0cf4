/* From reset to 64-bit code with AVX-512 and AMX switched on: a ROM of 512 bytes below 4 GB, and the entry of
   the program in memory (program.c). Page tables are in the memory image (bare_metal.py). */

        .section .rom, "ax"
        .code16
boot:                                   /* at 0xfffffe00; the base of CS is 0xffff0000 */
        cli
        lgdtl   %cs:(gdt_pointer - boot + 0xfe00)
        mov     $TABLES, %eax
        mov     %eax, %cr3
        mov     $0x40620, %eax          /* PAE, OSFXSR, OSXMMEXCPT, OSXSAVE */
        mov     %eax, %cr4
        mov     $0xc0000080, %ecx       /* EFER */
        mov     $0x100, %eax            /* long mode */
        xor     %edx, %edx
        wrmsr
        mov     $0x80010033, %eax       /* paging, write protection, NE, ET, MP, protection */
        mov     %eax, %cr0
        ljmpl   $8, $long_mode
        .code64
long_mode:
        mov     $16, %eax
        mov     %eax, %ds
        mov     %eax, %es
        mov     %eax, %ss
        xor     %ecx, %ecx
        xor     %edx, %edx
        mov     $0x600e7, %eax          /* x87, SSE, AVX, three of AVX-512, two of AMX */
        xsetbv
        mov     $program, %eax
        jmp     *%rax
        .balign 8
gdt:    .quad   0, 0x00af9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
        .word   . - gdt - 1
        .long   gdt
        .org    0x1f0
        .code16
        jmp     boot                    /* the processor starts here */
        .org    0x200

        .section .text.start, "ax"
        .code64
program:
        mov     $stack + STACK, %esp
        call    run

        .globl  vectors
        .balign 16
vectors:                                /* 32 exceptions, 16 bytes each */
        .set    number, 0
        .rept   32
        push    $number
        jmp     common
        .balign 16
        .set    number, number + 1
        .endr
common: mov     %rsp, %rdi
        and     $-16, %rsp
        call    fault

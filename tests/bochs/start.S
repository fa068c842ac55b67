/* start.S - from the BIOS to 64-bit mode with the vector registers of AVX-512 on, and the way into and out of
   system calls.  Everything runs in ring 0, with interrupts off; a fault therefore ends the machine.

   -DSECTORS=n  sectors of this image behind the first, which is all that the BIOS loads
   -DSAVED=n    register state that the "operating system" claims to save (XCR0): 0xe7 is all, 7 up to AVX */
        .section .boot, "ax"
        .code16
        .globl  start
start:
        cli
        cld
        xorw    %ax, %ax
        movw    %ax, %ds
        movw    %ax, %es
        movw    %ax, %ss
        movw    $0x7c00, %sp
        movw    $0x0200 + SECTORS, %ax  /* read sectors 2.. of track 0 to 0x7e00; dl is the drive still */
        movw    $2, %cx
        movb    $0, %dh
        movw    $0x7e00, %bx
        int     $0x13
        jc      stop
        inb     $0x92, %al              /* address line 20 */
        orb     $2, %al
        andb    $0xfe, %al
        outb    %al, $0x92

        xorl    %eax, %eax              /* page tables at 0x1000, 0x2000, 0x3000: the first GB where it is */
        movw    $0x1000, %di
        movw    $0xc00, %cx
        rep stosl
        movl    $0x2003, 0x1000
        movl    $0x3003, 0x2000
        movl    $0x83, %eax
        movw    $0x3000, %di
        movw    $512, %cx
1:      movl    %eax, (%di)
        addl    $0x200000, %eax
        addw    $8, %di
        loop    1b

        movl    $0x1000, %eax
        movl    %eax, %cr3
        movl    $0x40620, %eax          /* OSXSAVE, OSXMMEXCPT, OSFXSR, PAE */
        movl    %eax, %cr4
        movl    $0xc0000080, %ecx       /* EFER: long mode, syscall */
        rdmsr
        orl     $0x101, %eax
        wrmsr
        lgdtl   table_of_segments
        movl    $0x80000023, %eax       /* PG, NE, MP, PE */
        movl    %eax, %cr0
        ljmpl   $8, $long_mode
stop:   hlt
        jmp     stop

        .code64
long_mode:
        movl    $16, %eax
        movl    %eax, %ds
        movl    %eax, %es
        movl    %eax, %ss
        movl    $0x7c00, %esp
        xorl    %ecx, %ecx
        xorl    %edx, %edx
        movl    $SAVED, %eax
        xsetbv
        movl    $0xc0000081, %ecx       /* STAR: syscall goes to segment 8 */
        xorl    %eax, %eax
        movl    $8, %edx
        wrmsr
        movl    $0xc0000082, %ecx       /* LSTAR: at this address */
        movl    $system_call, %eax
        xorl    %edx, %edx
        wrmsr
        call    kernel                  /* does not return */

/* rax: which; rdi, rsi, rdx: arguments; rcx: return address; r11: flags.  The caller's stack may be in use
   below its pointer, so it is left alone. */
system_call:
        movq    %rsp, stack_of_caller
        movl    $0x7c00, %esp
        pushq   %rcx
        pushq   %r11
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %r8
        pushq   %r9
        pushq   %r10
        movq    %rdx, %rcx
        movq    %rsi, %rdx
        movq    %rdi, %rsi
        movq    %rax, %rdi
        call    answer
        popq    %r10
        popq    %r9
        popq    %r8
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popfq
        popq    %rcx
        movq    stack_of_caller, %rsp
        jmpq    *%rcx

        .balign 8
stack_of_caller:
        .quad   0
segments:
        .quad   0
        .quad   0x00af9a000000ffff      /* 8: 64-bit code */
        .quad   0x00cf92000000ffff      /* 16: data */
table_of_segments:
        .word   . - segments - 1
        .long   segments

        .org    510
        .word   0xaa55                  /* what the BIOS knows a boot sector by */

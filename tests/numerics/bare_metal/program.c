/* Calls one matrix product as often as the image says and prints all operands afterwards: the program that
   runs under Bochs without an operating system (bare_metal.py writes its image and reads what it prints). */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;

struct range {
    u8 *start;
    u64 bytes;
};
struct call {
    void *x;
    u64 x_stride, rows;
    void *w;
    u64 w_stride, blocks, steps;
    void *init, *acc;
    u64 acc_stride;
};
struct job {
    u64 call_count, range_count;
    struct call *calls;
    struct range *ranges;
};

void product(void *x, u64 x_stride, u64 rows, void *w, u64 w_stride, u64 blocks, u64 steps, void *init, void *acc,
             u64 acc_stride);
extern u8 vectors[];
u8 stack[STACK] __attribute__((aligned(64)));
static struct {
    u16 low, selector, kind, middle;
    u32 high, zero;
} gates[32];

static void out(u16 port, u8 value) { __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port)); }

static void send(const void *data, u64 bytes) {
    for (const u8 *p = data; bytes--; p++) {
        out(0x378, *p); /* the printer: data, strobe on, strobe off */
        out(0x37a, 0x0d);
        out(0x37a, 0x0c);
    }
}

static void __attribute__((noreturn)) end(void) {
    for (const char *p = "Shutdown"; *p; p++) {
        out(0x8900, *p);
    }
    for (;;) {
        __asm__ volatile("hlt");
    }
}

/* What an exception left on the stack, the vector first; some have an error code before the address. */
void fault(const u64 *frame) {
    u64 report[3] = {frame[0], (0x227d00 >> frame[0]) & 1 ? frame[2] : frame[1], 0};
    __asm__ volatile("mov %%cr2, %0" : "=r"(report[2]));
    send("FAULT   ", 8);
    send(report, sizeof report);
    end();
}

/* In place of everything that the product would call in Python. */
void outside(void) {
    send("OUTSIDE ", 8);
    end();
}

/* numba's arrays (its NRT_MemInfo): what a product allocates lives until its end. */
struct array {
    u64 references;
    void *destructor, *destructor_argument, *data;
    u64 bytes;
    void *allocator;
};
static u8 heap[HEAP] __attribute__((aligned(64)));
static u64 heap_used;

struct array *NRT_MemInfo_alloc_aligned(u64 bytes, u32 align) {
    u64 header = (heap_used + 63) & -64ul;
    u64 data = (header + sizeof(struct array) + align - 1) & -(u64)align;
    if (data + bytes > HEAP) {
        send("HEAP    ", 8);
        end();
    }
    heap_used = data + bytes;
    struct array *array = (struct array *)(heap + header);
    *array = (struct array){1, 0, 0, heap + data, bytes, 0};
    return array;
}

void NRT_MemInfo_call_dtor(struct array *array) { (void)array; }

/* Whether tiles are configured: none may be after a product. (The bit of their data is upside down in Bochs.) */
static u32 tiles_in_use(void) {
    u32 low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & 0x20000;
}

static void catch_exceptions(void) {
    struct {
        u16 limit;
        u64 base;
    } __attribute__((packed)) pointer = {sizeof gates - 1, (u64)gates};
    for (u64 k = 0; k < 32; k++) {
        u64 to = (u64)(vectors + 16 * k);
        gates[k].low = to;
        gates[k].selector = 8;
        gates[k].kind = 0x8e00;
        gates[k].middle = to >> 16;
    }
    __asm__ volatile("lidt %0" : : "m"(pointer));
}

void run(void) {
    const struct job *job = (const struct job *)JOB;
    catch_exceptions();
    for (u64 k = 0; k < job->call_count; k++) {
        const struct call *c = job->calls + k;
        heap_used = 0;
        product(c->x, c->x_stride, c->rows, c->w, c->w_stride, c->blocks, c->steps, c->init, c->acc, c->acc_stride);
        if (tiles_in_use()) {
            send("TILES   ", 8);
            send(&k, sizeof k);
            end();
        }
    }
    send("RESULTS ", 8);
    for (u64 k = 0; k < job->range_count; k++) {
        send(job->ranges[k].start, job->ranges[k].bytes);
    }
    end();
}

void *memset(void *to, int value, u64 bytes) {
    void *start = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
    return start;
}

void *memcpy(void *to, const void *from, u64 bytes) {
    void *start = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return start;
}

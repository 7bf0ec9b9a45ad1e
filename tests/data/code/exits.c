/* Functions that are left in different ways, see tests/unit/test_code_exits.c. */
struct object {
	int (*method)(struct object *self);
	int value;
};

extern int other(struct object *self) __attribute__((noipa));
extern void fail(int) __attribute__((noreturn, cold));

__attribute__((noinline)) int plain(struct object *self)
{
	return self->value * 3;
}

/* The address of the next code comes from a table. */
__attribute__((noinline)) int choose(int which, int a)
{
	switch (which) {
	case 0:
		return a * 7;
	case 1:
		return a ^ 12345;
	case 2:
		return a + (int)(unsigned long)&choose;
	case 3:
		return a / 3;
	case 4:
		return a - (a >> 5);
	case 5:
		return a * a;
	case 6:
		return -a;
	default:
		return 0;
	}
}

__attribute__((noinline)) int tail_call(struct object *self)
{
	self->value++;
	return other(self);
}

__attribute__((noinline)) int tail_call_by_pointer(struct object *self)
{
	self->value++;
	return self->method(self);
}

__attribute__((noinline)) int with_cold_part(struct object *self)
{
	if (__builtin_expect(self->value < 0, 0)) {
		self->value = other(self) + 7;
		fail(self->value);
	}
	return other(self) + self->value;
}

/* Its first instructions are the start of the loop. */
__attribute__((noinline)) int loop(struct object *self)
{
	do {
		self->value /= 3;
	} while (self->value > 5);
	return 1;
}

int other(struct object *self)
{
	return self->value;
}

void fail(int value)
{
	for (;;)
		__asm__ volatile("" : : "r"(value));
}

int main(int argc, char **argv)
{
	struct object object = {other, argc};

	return plain(&object) + choose(argc, argc) + tail_call(&object) +
	       tail_call_by_pointer(&object) + with_cold_part(&object) + loop(&object);
}

// Variables that print where they are: "NAME ADDRESS", the address as of symbolizer__variable().
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <pthread.h>

struct base {
	int first;
	std::mutex inherited;
};

struct shard : base {
	union {
		pthread_mutex_t either;
		char text[40];
	};
	static int not_here;
	struct {
		int hits;
		pthread_rwlock_t lock;
	} part[2];
};

int shard::not_here;
typedef const volatile struct shard shard_type;

pthread_mutex_t plain;
pthread_mutex_t matrix[3][4];
shard one = {};
shard *pointer = &one;
int number = 7;

namespace cache {
static shard shards[8];
static pthread_mutex_t hidden;
}

static uintptr_t start, offset;

static void find_code()
{
	FILE *maps = fopen("/proc/self/maps", "r");
	auto code = reinterpret_cast<uintptr_t>(&find_code);
	char line[512];

	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to, at;

		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &at) == 3 && from <= code && code < to) {
			start = from;
			offset = at;
		}
	}
	fclose(maps);
}

static void tell(const char *name, const volatile void *address)
{
	printf("%s %lx\n", name,
	       static_cast<unsigned long>(reinterpret_cast<uintptr_t>(address) - start + offset));
}

int main()
{
	auto rwlock = reinterpret_cast<char *>(&cache::shards[5].part[1].lock);

	find_code();
	tell("plain", &plain);
	tell("matrix[2][1]", &matrix[2][1]);
	tell("one.first", &one);
	tell("one.inherited", &one.inherited);
	tell("one.either", &one.either);
	tell("pointer", &pointer);
	tell("number", &number);
	tell("cache::shards[5].part[0].hits", &cache::shards[5].part[0].hits);
	tell("cache::shards[5].part[1].lock", rwlock);
	tell("cache::shards[5].part[1].lock", rwlock + 8);
	tell("cache::hidden", &cache::hidden);
	return memchr(&cache::hidden, 1, sizeof(cache::hidden)) != nullptr;
}

// SPDX-License-Identifier: BSD-2-Clause
/* Exceptions, coroutines and threads of C++. */
#include <exception>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#if __has_include(<coroutine>) && defined(__cpp_impl_coroutine)
#include <coroutine>
#define HAS_COROUTINES 1
#endif

#include "tests/calls/expect.h"

FUNCTION void inner(const char *what, const char *wanted)
{
	expect(what, wanted);
	NO_TAIL_CALL;
}

FUNCTION void thrower(int depth)
{
	if (depth > 0)
		thrower(depth - 1);
	if (depth == 0)
		throw std::runtime_error("deep");
	NO_TAIL_CALL;
}

struct cleaner {
	~cleaner()
	{
		char text[4096];

		shadow_text(text, sizeof(text));
		check("while an exception passes",
		      !strncmp(text, "main catcher passed", 19) && !strstr(text, "thrower"));
	}
};

FUNCTION void passed()
{
	cleaner one;

	thrower(3);
	NO_TAIL_CALL;
}

FUNCTION void catcher()
{
	for (int i = 0; i < 3; i++) {
		try {
			passed();
		} catch (const std::exception &) {
			expect("where an exception is caught", "main catcher");
			inner("a call there", "main catcher inner");
		}
		expect("after it", "main catcher");
	}
	NO_TAIL_CALL;
}

FUNCTION void rethrower()
{
	try {
		thrower(2);
	} catch (...) {
		inner("before it is thrown again", "main outer rethrower inner");
		throw;
	}
}

FUNCTION void outer()
{
	try {
		rethrower();
	} catch (const std::logic_error &) {
		check("another type", false);
	} catch (const std::runtime_error &) {
		inner("where it is caught again", "main outer inner");
	}
	expect("after it was thrown again", "main outer");
	NO_TAIL_CALL;
}

FUNCTION void filtered() noexcept
{
	try {
		thrower(1);
	} catch (int) {
		check("another type", false);
	} catch (...) {
		expect("any type", "main filtered");
	}
	NO_TAIL_CALL;
}

FUNCTION void worker(std::promise<int> promise)
{
	try {
		thrower(1);
	} catch (...) {
		inner("in a thread", "worker inner");
		promise.set_exception(std::current_exception());
	}
	NO_TAIL_CALL;
}

FUNCTION void threads()
{
	std::promise<int> promise;
	std::future<int> future = promise.get_future();
	std::thread thread(worker, std::move(promise));

	try {
		future.get();
	} catch (const std::runtime_error &) {
		expect("thrown in another thread", "main threads");
	}
	thread.join();
	NO_TAIL_CALL;
}

FUNCTION int pure(const std::function<int(int)> &function, int value)
{
	return function(value) + 1;
}

FUNCTION void functions()
{
	std::vector<std::string> words{"one", "two", "three"};
	int seen = 0;

	for (const std::string &word : words)
		seen += pure(
			[&](int n) {
				inner("in a lambda", "inner");
				return n + static_cast<int>(word.size());
			},
			1);
	check("lambdas are called", seen == 17);
	expect("after them", "main functions");
	NO_TAIL_CALL;
}

#ifdef HAS_COROUTINES
struct task {
	struct promise_type {
		task get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend()
		{
			return {};
		}
		std::suspend_always final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
			failure = std::current_exception();
		}
		std::exception_ptr failure;
	};
	std::coroutine_handle<promise_type> handle;
};

FUNCTION void step(const char *wanted)
{
	char text[4096];

	shadow_text(text, sizeof(text));
	check("in a coroutine", strstr(text, wanted) && strstr(text, "main resumer") == text);
	NO_TAIL_CALL;
}

static task generator(int n)
{
	for (int i = 0; i < n; i++) {
		step("step");
		co_await std::suspend_always{};
	}
	thrower(2);
}

FUNCTION void resumer()
{
	task one = generator(2), two = generator(3);

	while (!one.handle.done() || !two.handle.done())
		for (task *each : {&one, &two})
			if (!each->handle.done()) {
				each->handle.resume();
				expect("after a coroutine", "main resumer");
			}
	check("an exception in a coroutine", one.handle.promise().failure != nullptr);
	one.handle.destroy();
	two.handle.destroy();
	inner("in the end", "main resumer inner");
	NO_TAIL_CALL;
}
#endif

int main()
{
	catcher();
	outer();
	filtered();
	threads();
	functions();
#ifdef HAS_COROUTINES
	resumer();
#endif
	return end();
}

/*
 * std::pmr::memory_resource: a resource that takes memory from another one and logs
 * it, so that containers whose memory comes from a pool or a buffer are seen.
 *
 *	c++ -std=c++17 pmr.cc $(pkg-config --cflags --libs alloclog)
 *
 * Prints what the containers hold, as "TYPE BLOCKS BYTES", and goes on with each
 * line of standard input.
 */
#include <cstdio>
#include <list>
#include <memory_resource>
#include <new>
#include <string>

#include <alloclog.h>

enum { NODE = 0xc1, TEXT = 0xc2 };

/* --- the adapter ---------------------------------------------------------- */

/* Blocks of one type; `upstream` must outlive it, and be as safe in threads. */
class logged_resource : public std::pmr::memory_resource {
public:
	logged_resource(std::pmr::memory_resource *upstream, unsigned type)
	    : upstream_(upstream), type_(type)
	{
	}

private:
	void *
	do_allocate(std::size_t size, std::size_t alignment) override
	{
		void *block;

		try {
			block = upstream_->allocate(size, alignment);
		} catch (const std::bad_alloc &) {
			alloclog_failed(size, type_);
			throw;
		}
		alloclog_alloc(block, size, type_);
		return block;
	}

	/* Logged first: the memory may be another thread's soon. */
	void
	do_deallocate(void *block, std::size_t size, std::size_t alignment)
	    override
	{
		alloclog_free(block);
		upstream_->deallocate(block, size, alignment);
	}

	bool
	do_is_equal(const std::pmr::memory_resource &other) const
	    noexcept override
	{
		return this == &other;
	}

	std::pmr::memory_resource *upstream_;
	unsigned type_;
};

/* --- a program that uses it ------------------------------------------------- */

/* A list has a node for each element; a long string has its text, and a NUL. */
static void
say(std::size_t nodes, std::size_t texts, std::size_t text_bytes)
{
	std::printf("NODE %zu -\nTEXT %zu %zu\n", nodes, texts, text_bytes);
	std::fflush(stdout);
	for (int c; (c = std::getchar()) != '\n' && c != EOF;)
		continue;
}

int
main()
{
	std::pmr::unsynchronized_pool_resource pool;
	char buffer[4096];
	std::pmr::monotonic_buffer_resource small(buffer, sizeof buffer,
	    std::pmr::null_memory_resource());
	logged_resource nodes(&pool, NODE), texts(&small, TEXT);

	alloclog_type(NODE, "NODE", "node of a std::pmr::list");
	alloclog_type(TEXT, "TEXT", "text of a std::pmr::string");
	{
		std::pmr::list<int> list(&nodes);
		std::pmr::string text(&texts);

		for (int i = 0; i < 1000; i++)
			list.push_back(i);
		text.reserve(100);
		say(list.size(), 1, text.capacity() + 1);
		list.remove_if([](int i) { return i % 3 == 0; });
		say(list.size(), 1, text.capacity() + 1);
		/* The buffer is too small: the request fails. */
		try {
			text.reserve(5000);
		} catch (const std::bad_alloc &) {
			list.clear();
		}
		say(list.size(), 1, text.capacity() + 1);
	}
	say(0, 0, 0);
	return 0;
}

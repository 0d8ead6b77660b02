// Compiler attributes under names that say what they mean, and the few macros that every file
// needs. They exist so that code says LEAT_MUST_USE instead of GCC's spelling, and so that a
// compiler without an attribute needs a change only here. The header includes nothing.
#ifndef LEAT_BASE_ATTRIBUTES_H_
#define LEAT_BASE_ATTRIBUTES_H_

// The compiler warns, and the build fails, where the result of the function is dropped. Every
// function that returns a status has it.
#define LEAT_MUST_USE __attribute__((warn_unused_result))
// Lets the compiler check the arguments against the format. Both numbers are positions counted from
// 1; |first_argument| is 0 for a function that takes a va_list.
#define LEAT_PRINTF(format_index, first_argument) \
  __attribute__((format(printf, format_index, first_argument)))
// Which way a branch nearly always goes, so that the rare path is laid out away from the hot one.
#define LEAT_LIKELY(x) __builtin_expect(!!(x), 1)
#define LEAT_UNLIKELY(x) __builtin_expect(!!(x), 0)
// For functions that make errors: they are optimised for size, are kept out of line, and a branch
// that leads to them counts as unlikely.
#define LEAT_COLD __attribute__((cold, noinline))
// Aligns a field or a type to |bytes|, a power of two. Memory for such a struct must come from
// leat_allocator_allocate_aligned.
#define LEAT_ALIGNED(bytes) __attribute__((aligned(bytes)))
// The number of items of an array. A pointer compiles too and gives nonsense.
#define LEAT_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
// What two threads write stands this far apart, or the line travels between their cores with each
// write.
#define LEAT_CACHE_LINE_BYTES 64
// The struct of |type| whose |member| is at |pointer|. It needs <stddef.h>, and nothing checks that
// |pointer| lies in such a struct.
#define LEAT_CONTAINER_OF(pointer, type, member) \
  ((type*)(void*)((char*)(pointer) - offsetof(type, member)))

// LEAT_ASAN is defined in builds with AddressSanitizer. GCC and Clang announce it differently.
#if defined(__SANITIZE_ADDRESS__)
#define LEAT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAT_ASAN 1
#endif
#endif

// Leaves of the hot path that go without a stack protector. The library is built with
// -fstack-protector-strong, which guards every function that has an array or gives the address of a
// local away. Small functions that run once for each node of a step pay for it: with them guarded,
// 1000 additions of scalars took 12.9 us instead of 11.8, and 1000 nodes with a new tensor each
// 20.5 instead of 19.1. What is marked has no array, and what it calls writes no more into its
// locals than one size or pointer. A function that has an array, or that copies bytes into a local
// whose number comes from outside, must not be marked.
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define LEAT_HOT_LEAF __attribute__((no_stack_protector))
#endif
#endif
#ifndef LEAT_HOT_LEAF
#define LEAT_HOT_LEAF
#endif

// What the code itself guarantees; never a check of input. Absent from release builds.
#if defined(LEAT_DEBUG)
#define LEAT_DCHECK(condition) \
  do {                         \
    if (!(condition)) __builtin_trap(); \
  } while (0)
#else
// The condition is compiled but not evaluated: it must have no effect of its own, and what only it
// uses causes no warning.
#define LEAT_DCHECK(condition) ((void)sizeof(condition))
#endif

#endif  // LEAT_BASE_ATTRIBUTES_H_

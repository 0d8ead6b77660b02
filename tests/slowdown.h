// How much less tests of many random cases do under a sanitizer, which makes the product several
// times slower: they take every LEAT_SLOWDOWN-th case. A test without sanitizers takes all.
#ifndef LEAT_TESTS_SLOWDOWN_H_
#define LEAT_TESTS_SLOWDOWN_H_

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEAT_SLOWDOWN 4
#else
#define LEAT_SLOWDOWN 1
#endif

#endif

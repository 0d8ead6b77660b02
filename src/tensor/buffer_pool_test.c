// The pool of tensor buffers is correct only if nobody notices it, so the cases look at its
// bookkeeping: how sizes are rounded to classes, which address comes back, and how many bytes are
// in use or kept. The limit on kept bytes is checked after every allocation of a changing load, and
// a burst must be forgotten after enough smaller blocks have come back. Four threads exchange
// buffers through a shared table so that a block is often released by another thread than the one
// that took it; when the threads have ended, their private lists must be empty. One thread releases
// a buffer from the destructor of a thread-local key, which may run before or after the pool's own.
// Under AddressSanitizer every buffer is a heap block of its own and there is no pool, so only the
// cases that hold for both are built there.
#include "tensor/buffer_pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static leat_buffer_t* take(size_t size_bytes) {
  leat_buffer_t* buffer = NULL;
  assert_null(leat_buffer_allocate(leat_buffer_source_host(), size_bytes, &buffer));
  return buffer;
}

static size_t used_bytes(void) {
  size_t used, kept;
  leat_buffer_source_host_usage(&used, &kept);
  return used;
}

static size_t kept_bytes(void) {
  size_t used, kept;
  leat_buffer_source_host_usage(&used, &kept);
  return kept;
}

static void classes_hold_their_sizes_with_little_waste(void** state) {
  (void)state;
  unsigned previous = 0;
  for (size_t size = 1; size < (size_t)1 << 40; size += size / 97 + 1) {
    unsigned size_class = leat_buffer_pool_class(size);
    size_t class_bytes = leat_buffer_pool_class_bytes(size_class);
    assert_true(class_bytes >= size && class_bytes % LEAT_BUFFER_ALIGNMENT == 0);
    assert_true(size <= 512 ? class_bytes < size + 64 : class_bytes - size < size / 4 + 1);
    assert_true(size_class >= previous && size_class - previous <= 1);
    assert_int_equal(leat_buffer_pool_class(class_bytes), size_class);
    previous = size_class;
  }
  assert_int_equal(leat_buffer_pool_class(0), 0);
  assert_int_equal(leat_buffer_pool_class(LEAT_BUFFER_POOL_MAX_BYTES),
                   LEAT_BUFFER_POOL_CLASSES - 1);
}

static void usage_counts_what_lives(void** state) {
  (void)state;
  size_t before = used_bytes();
  leat_buffer_t* small = take(64);
  leat_buffer_t* large = take((size_t)4 << 20);
  assert_int_equal(used_bytes() - before, 64 + ((size_t)4 << 20));
  leat_buffer_release(small);
  leat_buffer_release(large);
  assert_int_equal(used_bytes(), before);
  leat_buffer_source_host_trim();
  assert_int_equal(kept_bytes(), 0);
  assert_int_equal(used_bytes(), before);
}

#if !defined(LEAT_ASAN)
static void a_released_block_serves_again(void** state) {
  (void)state;
  static const size_t sizes[] = {4, 60000, 300000, (size_t)6 << 20};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    leat_buffer_t* buffer = take(sizes[i]);
    void* data = buffer->data;
    leat_buffer_release(buffer);
    buffer = take(sizes[i] - sizes[i] / 100);  // of the same class
    assert_ptr_equal(buffer->data, data);
    leat_buffer_release(buffer);
  }
}

static void big_blocks_can_be_huge_pages(void** state) {
  (void)state;
  leat_buffer_t* buffer = take((size_t)2 << 20);
  assert_int_equal((uintptr_t)buffer->data % ((size_t)2 << 20), 0);
  leat_buffer_release(buffer);
}

// A step that needs many sizes one after the other, together far more than it holds at once. The
// blocks of the steps before serve it: what it takes was written before, while new memory is zero.
static void a_step_of_many_sizes_finds_old_blocks(void** state) {
  (void)state;
  static const size_t kMegabytes[] = {40, 48, 56, 64, 80, 96, 112};
  leat_buffer_source_host_trim();
  int fresh = 0;
  for (int step = 0; step < 20; ++step) {
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kMegabytes); ++i) {
      const size_t size_bytes = kMegabytes[i] << 20;
      leat_buffer_t* buffer = take(size_bytes);
      char* bytes = buffer->data;
      if (step >= 10) fresh += !bytes[0] + !bytes[size_bytes - 1];
      // All sizes' last bytes, where a smaller buffer may end next time.
      for (size_t k = 0; k <= i; ++k) bytes[(kMegabytes[k] << 20) - 1] = 1;
      bytes[0] = 1;
      assert_int_equal(buffer->size_bytes, size_bytes);
      leat_buffer_release(buffer);
    }
    assert_true(used_bytes() + kept_bytes() <=
                ((size_t)112 << 20) + LEAT_BUFFER_POOL_SLACK_BYTES);
  }
  assert_int_equal(fresh, 0);
  // Blocks far too large serve nobody: they go back, and small ones are made.
  enum { COUNT = 40 };
  leat_buffer_t* small[COUNT];
  const size_t before = used_bytes();
  for (int i = 0; i < COUNT; ++i) small[i] = take((size_t)2 << 20);
  assert_int_equal(used_bytes() - before, (size_t)COUNT * 2 << 20);
  for (int i = 0; i < COUNT; ++i) leat_buffer_release(small[i]);
  leat_buffer_source_host_trim();
}

// The peak is never exceeded by more than the slack, and a second, different phase pushes out what
// the first left behind. Nothing is written, so that no memory is really taken.
static void old_blocks_go_back_above_the_limit(void** state) {
  (void)state;
  enum { COUNT = 8 };
  leat_buffer_t* buffers[COUNT];
  leat_buffer_source_host_trim();
  size_t before = used_bytes();
  size_t most = before;
  for (size_t size = (size_t)20 << 20; size < (size_t)200 << 20; size *= 2) {
    for (int i = 0; i < COUNT; ++i) {
      buffers[i] = take(size);
      size_t used = used_bytes();
      if (used > most) most = used;
      assert_true(used + kept_bytes() <= most + LEAT_BUFFER_POOL_SLACK_BYTES);
    }
    for (int i = 0; i < COUNT; ++i) leat_buffer_release(buffers[i]);
    assert_true(used_bytes() + kept_bytes() <= most + LEAT_BUFFER_POOL_SLACK_BYTES);
  }
  leat_buffer_source_host_trim();
  assert_int_equal(kept_bytes(), 0);
}

static void a_burst_is_forgotten(void** state) {
  (void)state;
  leat_buffer_release(take((size_t)1 << 30));
  assert_true(kept_bytes() >= (size_t)1 << 30);
  for (int i = 0; i < 4096 * 40; ++i) leat_buffer_release(take((size_t)1 << 20));
  assert_true(kept_bytes() <= LEAT_BUFFER_POOL_SLACK_BYTES);
}
#endif

enum { QUEUE_SIZE = 64, ROUNDS = 30000 };
static _Atomic(leat_buffer_t*) queue[QUEUE_SIZE];

// Takes buffers, marks them, leaves them for whoever comes; releases what it finds.
static void* exchange(void* data) {
  unsigned seed = (unsigned)(uintptr_t)data;
  bool good = true;
  for (int i = 0; i < ROUNDS; ++i) {
    seed = seed * 1664525u + 1013904223u;
    size_t size = (size_t)1 << (seed >> 8) % 18;
    leat_buffer_t* buffer = NULL;
    leat_status_t status = leat_buffer_allocate(leat_buffer_source_host(), size, &buffer);
    if (status) {
      leat_status_free(status);
      continue;
    }
    ((char*)buffer->data)[0] = (char)size;
    ((char*)buffer->data)[size - 1] = (char)size;
    leat_buffer_t* other = atomic_exchange(&queue[(seed >> 20) % QUEUE_SIZE], buffer);
    if (other) {
      char* bytes = other->data;
      good = good && bytes[other->size_bytes - 1] == (char)other->size_bytes;
      leat_buffer_release(other);
    }
  }
  return good ? data : NULL;
}

static void buffers_cross_threads_and_threads_leave_nothing(void** state) {
  (void)state;
  enum { THREADS = 4 };
  leat_buffer_source_host_trim();
  size_t before = used_bytes();
  for (int round = 0; round < 3; ++round) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; ++i) {
      assert_int_equal(pthread_create(&threads[i], NULL, exchange, (void*)(i + 1)), 0);
    }
    for (uintptr_t i = 0; i < THREADS; ++i) {
      void* result = NULL;
      pthread_join(threads[i], &result);
      assert_ptr_equal(result, (void*)(i + 1));
    }
  }
  for (int i = 0; i < QUEUE_SIZE; ++i) leat_buffer_release(atomic_exchange(&queue[i], NULL));
  assert_int_equal(used_bytes(), before);
  leat_buffer_source_host_trim();
  assert_int_equal(kept_bytes(), 0);  // the ended threads' lists have been flushed
}

static void* share(void* data) {
  leat_buffer_t* buffer = data;
  for (int i = 0; i < ROUNDS; ++i) {
    leat_buffer_retain(buffer);
    leat_buffer_release(buffer);
  }
  leat_buffer_release(buffer);
  return NULL;
}

// Under TSan: the last owner's reuse of the bytes comes after the others' writes.
static void the_last_of_many_owners_ends_it(void** state) {
  (void)state;
  enum { THREADS = 3 };
  size_t before = used_bytes();
  leat_buffer_t* buffer = take(128);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    leat_buffer_retain(buffer);
    assert_int_equal(pthread_create(&threads[i], NULL, share, buffer), 0);
  }
  leat_buffer_release(buffer);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  assert_int_equal(used_bytes(), before);
}

// A key made earlier is ended earlier or later than the pool's: both ways must work.
static pthread_key_t late_key;
static void release_late(void* data) { leat_buffer_release(data); }
static void* end_with_a_buffer(void* data) {
  pthread_setspecific(late_key, take(40));
  leat_buffer_release(take(40));
  return data;
}

static void a_thread_may_release_while_it_ends(void** state) {
  (void)state;
  size_t before = used_bytes();
  pthread_t thread;
  assert_int_equal(pthread_key_create(&late_key, release_late), 0);
  assert_int_equal(pthread_create(&thread, NULL, end_with_a_buffer, NULL), 0);
  pthread_join(thread, NULL);
  pthread_key_delete(late_key);
  assert_int_equal(used_bytes(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_hold_their_sizes_with_little_waste),
      cmocka_unit_test(usage_counts_what_lives),
#if !defined(LEAT_ASAN)
      cmocka_unit_test(a_released_block_serves_again),
      cmocka_unit_test(big_blocks_can_be_huge_pages),
      cmocka_unit_test(a_step_of_many_sizes_finds_old_blocks),  // before the peaks of the others
      cmocka_unit_test(old_blocks_go_back_above_the_limit),
      cmocka_unit_test(a_burst_is_forgotten),
#endif
      cmocka_unit_test(buffers_cross_threads_and_threads_leave_nothing),
      cmocka_unit_test(the_last_of_many_owners_ends_it),
      cmocka_unit_test(a_thread_may_release_while_it_ends),
  };
  return cmocka_run_group_tests_name("tensor.buffer_pool", tests, NULL, NULL);
}

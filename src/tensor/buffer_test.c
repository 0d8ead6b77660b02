// The host's source of buffers and wrapped memory, seen through the interface. Sizes from nothing
// to far above 2 MiB must come whole and aligned, impossible ones must be refused; the number of
// owners decides whether a buffer may be written; memory of a caller is given back once, by his
// function. The observer must be asked for every buffer, also for one that the pool had kept. What
// the pool keeps and gives back is tested in buffer_pool_test.c.
#include "tensor/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/observer.h"
#include "tensor/object.h"

static void expect_code(leat_status_t status, leat_status_code_t code) {
  assert_int_equal(leat_status_code(status), code);
  leat_status_free(status);
}

static leat_buffer_t* take(size_t size_bytes) {
  leat_buffer_t* buffer = NULL;
  assert_null(leat_buffer_allocate(leat_buffer_source_host(), size_bytes, &buffer));
  return buffer;
}

static void every_size_is_given_whole_and_aligned(void** state) {
  (void)state;
  static const size_t sizes[] = {0,     1,         63,        64,       65,
                                 511,   512,       513,       640,      641,
                                 65536, 65537,     1000003,   2097151,  2097152,
                                 2097153, 5000000, 33554433};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    leat_buffer_t* first = take(sizes[i]);
    leat_buffer_t* second = take(sizes[i]);
    assert_int_equal((uintptr_t)first->data % LEAT_BUFFER_ALIGNMENT, 0);
    assert_int_equal((uintptr_t)second->data % LEAT_BUFFER_ALIGNMENT, 0);
    assert_int_equal(first->size_bytes, sizes[i]);
    memset(first->data, 1, sizes[i]);
    memset(second->data, 2, sizes[i]);
    for (size_t at = 0; at < sizes[i]; at += 61) {
      assert_int_equal(((char*)first->data)[at], 1);
    }
    leat_buffer_release(first);
    leat_buffer_release(second);
  }
}

static void sizes_that_no_machine_has_are_refused(void** state) {
  (void)state;
  static const size_t sizes[] = {SIZE_MAX, (size_t)1 << 62, ((size_t)1 << 47) + 1,
                                 (size_t)1 << 47};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sizes); ++i) {
    leat_buffer_t* buffer = NULL;
    leat_status_t status = leat_buffer_allocate(leat_buffer_source_host(), sizes[i], &buffer);
    expect_code(status, LEAT_RESOURCE_EXHAUSTED);
    assert_null(buffer);
  }
}

static void exclusive_means_one_owner_and_writable(void** state) {
  (void)state;
  leat_buffer_t* buffer = take(16);
  assert_true(leat_buffer_is_exclusive(buffer));
  leat_buffer_retain(buffer);
  assert_false(leat_buffer_is_exclusive(buffer));
  leat_buffer_release(buffer);
  assert_true(leat_buffer_is_exclusive(buffer));
  buffer->read_only = true;
  assert_false(leat_buffer_is_exclusive(buffer));
  leat_buffer_release(buffer);
  leat_buffer_release(NULL);
  buffer = take(16);  // the same block, perhaps: its flags are fresh
  assert_true(leat_buffer_is_exclusive(buffer));
  assert_false(buffer->planned);
  leat_buffer_release(buffer);
}

typedef struct release_log_s {
  int count;
  void* data;
  size_t size_bytes;
} release_log_t;

static void note_release(void* data, size_t size_bytes, void* release_data) {
  release_log_t* log = release_data;
  ++log->count;
  log->data = data;
  log->size_bytes = size_bytes;
}

static void wrapped_memory_is_released_once(void** state) {
  (void)state;
  char bytes[10];
  release_log_t log = {0};
  leat_buffer_t* buffer = NULL;
  assert_null(leat_buffer_wrap(bytes, sizeof(bytes), note_release, &log, &buffer));
  assert_ptr_equal(buffer->data, bytes);
  assert_int_equal(buffer->size_bytes, sizeof(bytes));
  leat_buffer_retain(buffer);
  leat_buffer_release(buffer);
  assert_int_equal(log.count, 0);
  leat_buffer_release(buffer);
  assert_int_equal(log.count, 1);
  assert_ptr_equal(log.data, bytes);
  assert_int_equal(log.size_bytes, sizeof(bytes));
  buffer = take(24);  // the wrapper's block serves again, as itself
  memset(buffer->data, 1, 24);
  leat_buffer_release(buffer);
  assert_int_equal(log.count, 1);
  assert_null(leat_buffer_wrap(NULL, 0, NULL, NULL, &buffer));
  leat_buffer_release(buffer);
}

// Leaks and double frees show under ASan.
static void objects_end_with_their_buffer(void** state) {
  (void)state;
  enum { COUNT = 5 };
  leat_buffer_t* buffer = take(COUNT * sizeof(TF_TString));
  memset(buffer->data, 0, buffer->size_bytes);
  buffer->object_dtype = LEAT_DTYPE_STRING;
  TF_TString* strings = buffer->data;
  leat_string_view_t text = LEAT_SV("a string too long to lie inside the 24 bytes");
  for (int i = 0; i < COUNT - 1; ++i) assert_null(leat_object_set_string(&strings[i], text));
  leat_buffer_release(buffer);

  leat_resource_handle_t* handle = NULL;
  assert_null(leat_resource_handle_create(LEAT_SV("d"), LEAT_SV("c"), LEAT_SV("n"), LEAT_SV("t"),
                                          &handle));
  buffer = take(2 * sizeof(void*));
  memset(buffer->data, 0, buffer->size_bytes);
  buffer->object_dtype = LEAT_DTYPE_RESOURCE;
  leat_resource_handle_retain(handle);
  ((leat_resource_handle_t**)buffer->data)[1] = handle;
  leat_buffer_release(buffer);
  assert_int_equal(handle->references, 1);
  leat_resource_handle_release(handle);
}

static leat_status_t count_or_refuse(void* data, size_t size_bytes) {
  int* remaining = data;
  (void)size_bytes;
  if ((*remaining)-- > 0) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "refused by the test");
}

static void the_observer_sees_pooled_allocations_too(void** state) {
  (void)state;
  leat_buffer_release(take(100));  // now one is kept
  int remaining = 3;
  leat_observer_t observer = {.data = &remaining, .on_allocation = count_or_refuse};
  leat_observer_install(&observer);
  for (int i = 0; i < 3; ++i) leat_buffer_release(take(100));
  leat_buffer_t* buffer = NULL;
  leat_status_t refused = leat_buffer_allocate(leat_buffer_source_host(), 100, &buffer);
  remaining = 0;
  leat_status_t wrap_refused = leat_buffer_wrap(&remaining, 4, NULL, NULL, &buffer);
  leat_observer_t empty = {0};
  leat_observer_install(&empty);
  leat_buffer_release(take(100));
  leat_observer_install(NULL);
  expect_code(refused, LEAT_RESOURCE_EXHAUSTED);
  expect_code(wrap_refused, LEAT_RESOURCE_EXHAUSTED);
  assert_null(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_size_is_given_whole_and_aligned),
      cmocka_unit_test(sizes_that_no_machine_has_are_refused),
      cmocka_unit_test(exclusive_means_one_owner_and_writable),
      cmocka_unit_test(wrapped_memory_is_released_once),
      cmocka_unit_test(objects_end_with_their_buffer),
      cmocka_unit_test(the_observer_sees_pooled_allocations_too),
  };
  return cmocka_run_group_tests_name("tensor.buffer", tests, NULL, NULL);
}

#include "base/test.h"
#include "device/device.h"

#define NAME "/job:localhost/replica:0/task:0/device:CPU:0"

static void take_status(void* data, leat_status_t status) { *(leat_status_t*)data = status; }

static void a_copy_shares_or_fills(void** state) {
  leat_device_t* device = NULL;
  LEAT_EXPECT_OK(
      leat_cpu_device_create(LEAT_SV(NAME), NULL, leat_allocator_system(), &device));
  const float values[] = {1, 2, 3};
  leat_tensor_t host, shared = {0}, filled, narrow;
  leat_status_t status = leat_make_status(LEAT_UNKNOWN, "not called");
  leat_status_t uncalled = status;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, 3, &host));
  LEAT_EXPECT_OK(device->vtable->copy_from_host(device, &host, &shared));
  assert_ptr_equal(shared.data, host.data);

  LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_FLOAT, &host.shape, &filled));
  LEAT_EXPECT_OK(device->vtable->copy_to_host(device, &shared, &filled, take_status, &status));
  LEAT_EXPECT_OK(status);
  leat_status_free(uncalled);
  assert_ptr_not_equal(filled.data, host.data);
  assert_memory_equal(filled.data, values, sizeof(values));

  leat_shape_t two = leat_shape_vector(2);
  LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_FLOAT, &two, &narrow));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, device->vtable->copy_to_host(device, &shared, &narrow,
                                                                       take_status, &status));
  LEAT_EXPECT_OK(status);

  leat_tensor_release(&host);
  leat_tensor_release(&shared);
  leat_tensor_release(&filled);
  leat_tensor_release(&narrow);
  leat_device_release(device);
}

static void every_device_is_another(void** state) {
  leat_thread_pool_t* pool = NULL;
  leat_device_t *a = NULL, *b = NULL;
  LEAT_EXPECT_OK(leat_thread_pool_create(2, leat_allocator_system(), &pool));
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV(NAME), pool, leat_allocator_system(), &a));
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV(NAME), pool, leat_allocator_system(), &b));
  leat_thread_pool_release(pool);  // the devices keep it
  assert_int_equal(leat_thread_pool_size(a->pool), 2);
  assert_true(a->incarnation != 0 && a->incarnation != b->incarnation);
  assert_true(leat_string_view_equals(a->name, NAME));
  assert_true(a->shares_host_memory);
  leat_device_retain(a);
  leat_device_release(a);
  leat_device_release(a);
  leat_device_release(b);
  leat_device_release(NULL);
}

static void a_name_must_be_full(void** state) {
  leat_device_t* device = NULL;
  static const char* const names[] = {"", "CPU:0", "/job:a/replica:0/task:0/device:GPU:0",
                                      "/job:a/replica:0/task:0/device:CPU:*", "what"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) {
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     leat_cpu_device_create(leat_string_view_from(names[i]), NULL,
                                            leat_allocator_system(), &device));
    assert_null(device);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_copy_shares_or_fills),
      cmocka_unit_test(every_device_is_another),
      cmocka_unit_test(a_name_must_be_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

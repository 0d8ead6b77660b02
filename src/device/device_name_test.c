// Device names: reading, canonical writing, matching and merging of constraints. The table of texts
// holds what TensorFlow's DeviceNameUtils makes of each, among them the old short forms ("/gpu:1",
// "cpu:0") and those that it refuses. A buffer that is too small must get the beginning of a name
// and a NUL, and nothing behind it. Which devices there are is the matter of the placer's tests.
#include "device/device_name.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static const char* reprint(const char* text) {
  static char buffer[256];
  leat_device_name_t name;
  leat_status_t status = leat_device_name_parse(leat_string_view_from(text), &name);
  if (status) {
    leat_status_free(status);
    return "malformed";
  }
  return leat_device_name_print(&name, buffer, sizeof(buffer));
}

static void names_are_read_and_written_as_tensorflow_does(void** state) {
  static const struct {
    const char* text;
    const char* canonical;
  } cases[] = {
      {"/job:localhost/replica:0/task:0/device:CPU:0",
       "/job:localhost/replica:0/task:0/device:CPU:0"},
      {"/device:GPU:3/job:worker", "/job:worker/device:GPU:3"},
      {"/job:ps", "/job:ps"},
      {"/job:*/replica:*/task:*/device:*", ""},
      {"/job:foo_bar2/task:17/cpu:0", "/job:foo_bar2/task:17/device:CPU:0"},
      {"/gpu:*", "/device:GPU:*"},
      {"/CPU:1", "/device:CPU:1"},
      {"/device:TPU", "/device:TPU:*"},
      {"/device:cpu:0", "/device:CPU:0"},
      {"GPU:0", "/device:GPU:0"},
      {"cpu:2", "/device:CPU:2"},
      {"/", ""},
      {"", ""},
      {"/job:a/job:b", "/job:b"},
      {"/device:CPU:0/task:1/", "malformed"},
      {"/job:", "malformed"},
      {"/job:1a", "malformed"},
      {"/job:a-b", "malformed"},
      {"/replica:", "malformed"},
      {"/replica:x", "malformed"},
      {"/task:-1", "malformed"},
      {"/task:99999999999999999999", "malformed"},
      {"/device:CPU:0x", "malformed"},
      {"/device::0", "malformed"},
      {"CPU", "malformed"},
      {"CPU:", "malformed"},
      {"CPU:0/", "malformed"},
      {"/foo:0", "malformed"},
      {"job:a", "malformed"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    assert_string_equal(reprint(cases[i].text), cases[i].canonical);
  }
}

static leat_device_name_t parsed(const char* text) {
  leat_device_name_t name;
  LEAT_EXPECT_OK(leat_device_name_parse(leat_string_view_from(text), &name));
  return name;
}

static bool matches(const char* constraint, const char* full) {
  leat_device_name_t a = parsed(constraint), b = parsed(full);
  return leat_device_name_matches(&a, &b);
}

static void constraints_match_full_names(void** state) {
  const char* full = "/job:worker/replica:0/task:17/device:GPU:3";
  assert_true(matches("", full));
  assert_true(matches("/job:worker", full));
  assert_true(matches("/device:gpu:3", full));
  assert_true(matches("/device:GPU:*", full));
  assert_true(matches(full, full));
  assert_false(matches("/job:ps", full));
  assert_false(matches("/job:work", full));
  assert_false(matches("/task:1", full));
  assert_false(matches("/replica:1", full));
  assert_false(matches("/device:CPU:*", full));
  assert_false(matches("GPU:0", full));
}

static const char* merged(const char* a_text, const char* b_text, bool soft) {
  static char buffer[256];
  leat_device_name_t a = parsed(a_text), b = parsed(b_text), both;
  leat_status_t status = leat_device_name_merge(&a, &b, soft, &both);
  if (!status) return leat_device_name_print(&both, buffer, sizeof(buffer));
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  snprintf(buffer, sizeof(buffer), "%s", leat_status_message(status));
  leat_status_free(status);
  return buffer;
}

static void constraints_merge(void** state) {
  assert_string_equal(merged("/job:a", "/task:1/device:GPU:0", false),
                      "/job:a/task:1/device:GPU:0");
  assert_string_equal(merged("/device:GPU:*", "GPU:2", false), "/device:GPU:2");
  assert_string_equal(merged("/job:a", "/job:b", false),
                      "Cannot merge devices with incompatible jobs: '/job:a' and '/job:b'");
  assert_string_equal(merged("/job:a", "/job:b", true),
                      "Cannot merge devices with incompatible jobs: '/job:a' and '/job:b'");
  assert_string_equal(merged("/task:1", "/task:2", false),
                      "Cannot merge devices with incompatible tasks: '/task:1' and '/task:2'");
  assert_string_equal(
      merged("CPU:0", "GPU:0", false),
      "Cannot merge devices with incompatible types: '/device:CPU:0' and '/device:GPU:0'");
  assert_string_equal(
      merged("GPU:0", "GPU:1", false),
      "Cannot merge devices with incompatible ids: '/device:GPU:0' and '/device:GPU:1'");
  assert_string_equal(merged("/job:a/device:CPU:0", "/device:GPU:*", true), "/job:a");
  assert_string_equal(merged("GPU:0", "GPU:1", true), "/device:GPU:*");
}

static void printing_stops_at_the_end_of_the_buffer(void** state) {
  leat_device_name_t name = parsed("/job:localhost/replica:0/task:0/device:CPU:0");
  for (size_t size = 1; size < 60; ++size) {
    char buffer[64];
    memset(buffer, 'x', sizeof(buffer));
    leat_device_name_print(&name, buffer, size);
    assert_true(strlen(buffer) < size);
    assert_int_equal(buffer[size], 'x');
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_read_and_written_as_tensorflow_does),
      cmocka_unit_test(constraints_match_full_names),
      cmocka_unit_test(constraints_merge),
      cmocka_unit_test(printing_stops_at_the_end_of_the_buffer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

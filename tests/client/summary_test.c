// leat/summary.h: what is refused, with a message that names the field, the value and the rule, and
// that nothing of it reaches the file; and what the bytes for other writers are. What the board
// shows of values that are right is tested in board/summary_test.c.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "capi/kit.h"
#include "leat/inspect.h"
#include "leat/summary.h"
#include "scratch.h"

static TF_Status* status;
static leat_events_t* events;

static int set_up(void** state) {
  status = TF_NewStatus();
  if (scratch_set_up(state)) return 1;
  events = leat_events_open("logs", status);
  kit_ok(status);
  return 0;
}

// The records of the only file in logs/, after the first one, which states the version.
static leat_records_t* open_records(void) {
  char path[256] = "";
  FILE* list = popen("ls logs/events.out.tfevents.*", "r");
  assert_non_null(fgets(path, sizeof path, list));
  pclose(list);
  path[strcspn(path, "\n")] = 0;
  leat_events_flush(events, status);
  kit_ok(status);
  leat_records_t* records = leat_records_open(path, status);
  kit_ok(status);
  size_t size;
  assert_non_null(leat_records_next(records, &size, status));
  return records;
}

static int count_events(void) {
  leat_records_t* records = open_records();
  int count = 0;
  for (size_t size; leat_records_next(records, &size, status);) ++count;
  kit_expect(status, TF_OUT_OF_RANGE);
  leat_records_close(records);
  return count;
}

static int tear_down(void** state) {
  leat_events_close(events, status);
  TF_DeleteStatus(status);
  return scratch_tear_down(state);
}

static void expect_refused(const char* text) {
  kit_expect_text(status, TF_INVALID_ARGUMENT, text);
}

static void test_values_are_refused(void** state) {
  leat_events_add_text(events, 0, "", "x", status);
  expect_refused("AddText failed: tag is '', must not be empty");
  leat_events_add_text(events, 0, NULL, "x", status);
  expect_refused("AddText failed: tag is NULL");
  leat_events_add_text(events, 0, "notes", "a\xff", status);
  expect_refused("AddText failed: text is a text of 2 bytes that are not UTF-8");
  leat_events_add_text(events, 0, "notes", NULL, status);
  expect_refused("text is NULL");
  leat_events_add_image(events, 0, "cat", "BM....", 6, 1, 1, status);
  expect_refused("AddImage failed for tag 'cat': the file is 6 bytes that begin as no image does");
  leat_events_add_image(events, 0, "cat", NULL, 6, 1, 1, status);
  expect_refused("the file is 0 bytes");
  leat_events_add_image(events, 0, "cat", "GIF89a", 6, 0, 3, status);
  expect_refused("the size is 0 x 3, must be at least 1 x 1");
  leat_events_add_image(events, 0, "cat", "GIF89a", 6, 3, -1, status);
  expect_refused("the size is 3 x -1, must be at least 1 x 1");
  leat_events_add_audio(events, 0, "sound", "RIFF", 4, status);
  expect_refused("AddAudio failed for tag 'sound'");
  TF_Buffer* bytes = TF_NewBufferFromString("\xff\xff", 2);
  leat_events_add_run_metadata(events, 0, "step", bytes, status);
  expect_refused("AddRunMetadata failed for tag 'step'");
  leat_events_add_run_metadata(events, 0, "", bytes, status);
  expect_refused("AddRunMetadata failed: tag is ''");
  TF_DeleteBuffer(bytes);
  assert_int_equal(count_events(), 0);
}

static void test_curves_are_refused(void** state) {
  float labels[] = {1, 0}, predictions[] = {0.5f, 0.25f}, weights[] = {1, 1};
  const leat_pr_curve_t good = {labels, predictions, weights, 2, 2};
  const struct {
    float* place;
    float value;
    const char* text;
  } elements[] = {
      {&labels[1], 0.5f, "AddPrCurve failed for tag 'c': label 1 is 0.5, must be 0 or 1"},
      {&labels[0], NAN, "label 0 is nan"},
      {&predictions[1], NAN, "prediction 1 is nan, must be from 0 to 1"},
      {&predictions[0], nextafterf(1, 2), "prediction 0 is 1"},
      {&predictions[0], -FLT_MIN, "prediction 0 is -1"},
      {&weights[1], -1, "weight 1 is -1, must be finite and at least 0"},
      {&weights[0], INFINITY, "weight 0 is inf"},
  };
  for (size_t i = 0; i < sizeof elements / sizeof *elements; ++i) {
    float kept = *elements[i].place;
    *elements[i].place = elements[i].value;
    leat_events_add_pr_curve(events, 0, "c", &good, status);
    expect_refused(elements[i].text);
    *elements[i].place = kept;
  }
  const int counts[] = {1, 0, -5, (1 << 20) + 1};
  for (int i = 0; i < 4; ++i) {
    leat_pr_curve_t curve = good;
    curve.threshold_count = counts[i];
    leat_events_add_pr_curve(events, 0, "c", &curve, status);
    expect_refused("must be 2 to 1048576");
  }
  leat_events_add_pr_curve(events, 0, "c", NULL, status);
  expect_refused("curve is NULL");
  leat_events_add_pr_curve(events, 0, "c", &(leat_pr_curve_t){labels, NULL, NULL, 2, 2}, status);
  expect_refused("predictions is NULL, must be a list of 2");
  assert_int_equal(count_events(), 0);
  leat_events_add_pr_curve(events, 0, "c", &good, status);
  kit_ok(status);
  leat_pr_curve_t largest = good;
  largest.threshold_count = 1 << 20;
  leat_events_add_pr_curve(events, 0, "c", &largest, status);
  kit_ok(status);
  assert_int_equal(count_events(), 2);
}

static void expect_layout_refused(leat_chart_t chart, const char* text) {
  leat_chart_category_t category = {"A", &chart, 1, 0};
  leat_events_add_layout(events, &category, 1, status);
  expect_refused(text);
}

static void test_layouts_are_refused(void** state) {
  const char* tags[] = {"loss", ""};
  leat_margin_t margin = {"v", "l", NULL};
  expect_layout_refused((leat_chart_t){"", tags, 1, NULL, 0}, "title of a chart is ''");
  expect_layout_refused((leat_chart_t){"c", tags, 2, NULL, 0}, "tag of a chart is ''");
  expect_layout_refused((leat_chart_t){"c", NULL, 2, NULL, 0}, "tags of a chart is NULL");
  expect_layout_refused((leat_chart_t){"c", tags, -1, NULL, 0}, "number of tags of a chart is -1");
  expect_layout_refused((leat_chart_t){"c", NULL, 0, &margin, 1}, "upper of a margin is NULL");
  expect_layout_refused((leat_chart_t){"c", tags, 1, &margin, 1},
                        "AddLayout failed for chart 'c': it has 1 tags and 1 margins, must have");
  expect_layout_refused((leat_chart_t){"c", NULL, 0, NULL, 0}, "it has 0 tags and 0 margins");
  leat_chart_category_t twice[] = {{"A", NULL, 0, 0}, {"B", NULL, 0, 0}, {"A", NULL, 0, 0}};
  leat_events_add_layout(events, twice, 3, status);
  expect_refused("AddLayout failed: the title of a category is 'A' twice, must be unique");
  leat_events_add_layout(events, NULL, 1, status);
  expect_refused("categories is NULL");
  assert_int_equal(count_events(), 0);
}

static void start(leat_hparam_t a, leat_hparam_t b) {
  leat_hparam_t hparams[] = {a, b};
  leat_events_add_session_start(events, &(leat_session_start_t){hparams, 2, NULL}, status);
}

static void test_hparams_are_refused(void** state) {
  leat_hparam_t good = leat_hparam_bool("a", 1);
  start(good, leat_hparam_text("a", "x"));
  expect_refused("AddSessionStart failed: the name of a hyper-parameter is 'a' twice");
  start(good, leat_hparam_number("b", NAN));
  expect_refused("for hyper-parameter 'b': the number is nan, must be finite");
  start(good, leat_hparam_number("b", -INFINITY));
  expect_refused("the number is -inf");
  start(good, leat_hparam_text("b", NULL));
  expect_refused("value of a hyper-parameter is NULL");
  start(good, leat_hparam_text("", "x"));
  expect_refused("name of a hyper-parameter is ''");
  start(good, (leat_hparam_t){.name = "b", .kind = (leat_hparam_kind_t)0});
  expect_refused("for hyper-parameter 'b': the kind is 0, must be 1 (text), 2 (bool) or 3");
  leat_events_add_session_start(events, NULL, status);
  expect_refused("start is NULL");
  leat_events_add_session_end(events, (leat_session_status_t)4, status);
  expect_refused("the session's status is 4, must be 0 to 3");
  leat_hparam_info_t infos[] = {
      {.name = "lr", .kind = LEAT_HPARAM_NUMBER, .low = 2, .high = 1},
      {.name = "lr", .kind = LEAT_HPARAM_BOOL}};
  leat_hparam_metric_t metrics[] = {{"m", NULL, NULL}, {"m", "", NULL}};
  leat_experiment_t experiment = {.hparams = infos, .hparam_count = 1, .metrics = metrics};
  leat_events_add_experiment(events, &experiment, status);
  expect_refused("AddExperiment failed for hyper-parameter 'lr': low is 2, must be at most high");
  infos[0].high = INFINITY;
  leat_events_add_experiment(events, &experiment, status);
  expect_refused("high is inf, must be finite");
  infos[0].high = 3;
  experiment.hparam_count = 2;
  leat_events_add_experiment(events, &experiment, status);
  expect_refused("the name of a hyper-parameter is 'lr' twice");
  experiment.hparam_count = 1;
  experiment.metric_count = 2;
  leat_events_add_experiment(events, &experiment, status);
  expect_refused("the metric 'm' of the group '' is there twice, must be unique");
  assert_int_equal(count_events(), 0);
  metrics[1].group = "eval";
  leat_events_add_experiment(events, &experiment, status);
  kit_ok(status);
  assert_int_equal(count_events(), 1);
}

static void test_a_file_that_is_not_open(void** state) {
  leat_events_add_text(NULL, 0, "notes", "x", status);
  kit_expect_text(status, TF_FAILED_PRECONDITION, "the file is not open");
  leat_events_add_run_metadata(NULL, 0, "step", NULL, status);
  kit_expect_text(status, TF_FAILED_PRECONDITION, "the file is not open");
}

// Closes |*message| and opens the next event of |records|; its only value.
static leat_message_view_t next_value(leat_records_t* records, leat_message_t** message) {
  size_t size;
  const void* data = leat_records_next(records, &size, status);
  kit_ok(status);
  TF_Buffer bytes = {data, size, NULL};
  leat_message_close(*message);
  *message = leat_message_open("Event", &bytes, status);
  kit_ok(status);
  leat_message_view_t summary = leat_message_child(leat_message_view(*message), "summary", 0);
  assert_int_equal(leat_message_count(summary, "value"), 1);
  return leat_message_child(summary, "value", 0);
}

// The board and TensorBoard show neither, so that the event itself is looked at.
static void test_sizes_of_images_and_of_sound(void** state) {
  // Two frames of one channel, 256 frames a second.
  static const char wav[] = "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\0\x01\0\0\0\x02\0\0"
                            "\x02\0\x10\0" "data\x04\0\0\0\x01\0\x02\0";
  leat_events_add_image(events, 4, "cat", "GIF89a", 6, 7, 5, status);
  kit_ok(status);
  leat_events_add_audio(events, 5, "sound", wav, sizeof wav - 1, status);
  kit_ok(status);
  leat_records_t* records = open_records();
  leat_message_t* message = NULL;
  leat_message_view_t image = leat_message_child(next_value(records, &message), "image", 0);
  assert_int_equal(leat_message_integer(image, "width", 0), 7);
  assert_int_equal(leat_message_integer(image, "height", 0), 5);
  assert_int_equal(leat_message_integer(leat_message_view(message), "step", 0), 4);
  leat_message_view_t audio = leat_message_child(next_value(records, &message), "audio", 0);
  assert_true(leat_message_real(audio, "sample_rate", 0) == 256);
  assert_int_equal(leat_message_integer(audio, "num_channels", 0), 1);
  assert_int_equal(leat_message_integer(audio, "length_frames", 0), 2);
  leat_message_close(message);
  leat_records_close(records);
}

// The bytes are a Summary with the value of the event, which leat_events_add_summary takes.
static void test_summaries_for_other_writers(void** state) {
  float label = 1, prediction = 0.5f;
  leat_pr_curve_t curve = {&label, &prediction, NULL, 1, 300};
  TF_Buffer* bytes = leat_summary_pr_curve("c", &curve, status);
  kit_ok(status);
  leat_message_t* message = leat_message_open("Summary", bytes, status);
  kit_ok(status);
  leat_message_view_t value = leat_message_child(leat_message_view(message), "value", 0);
  leat_message_view_t plugin = leat_message_child(
      leat_message_child(value, "metadata", 0), "plugin_data", 0);
  size_t size;
  // A PrCurvePluginData: the field 2 is 300.
  assert_memory_equal(leat_message_string(plugin, "content", 0, &size), "\x10\xac\x02", 3);
  assert_int_equal(size, 3);
  assert_int_equal(leat_message_count(leat_message_child(value, "tensor", 0), "float_val"), 1800);
  leat_message_close(message);
  leat_events_add_summary(events, 0, bytes->data, bytes->length, status);
  kit_ok(status);
  TF_DeleteBuffer(bytes);
  assert_int_equal(count_events(), 1);
  curve.threshold_count = 1;
  assert_null(leat_summary_pr_curve("c", &curve, status));
  kit_expect(status, TF_INVALID_ARGUMENT);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_values_are_refused),
      TEST(test_curves_are_refused),
      TEST(test_layouts_are_refused),
      TEST(test_hparams_are_refused),
      TEST(test_a_file_that_is_not_open),
      TEST(test_sizes_of_images_and_of_sound),
      TEST(test_summaries_for_other_writers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

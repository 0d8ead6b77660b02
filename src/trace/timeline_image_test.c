// A recording's image must hold what the recording does. Recordings made from seeds, with nested
// spans, nodes, processes and names, are read in the ordinary way and through an image, with little
// memory, so that their lanes are spilled in many pieces, and with enough. Both are compared field
// by field, and so are the delays that are found and those that come back from bytes. Images may
// come from anybody: each byte of one is changed by itself, and it is cut off everywhere. Then
// opening must fail, or else verifying where the byte is one of a slice; and where checksums were
// made to fit, so that the numbers themselves are looked at, nothing may be read from outside,
// which the builds with sanitizers see. Every write and read is made to fail once.
#include "trace/timeline_image.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/crc32c.h"
#include "base/file_system_faulty.h"
#include "base/random.h"
#include "scratch.h"
#include "trace/delay_build.h"
#include "trace/delay_image.h"
#include "trace/lane_spill.h"
#include "trace/test_recording.h"

#define RECORDING "t.perfetto-trace"
#define IMAGE "image"
#define SPILL "spill"
#define FIXED_BYTES 32  // of an image, before the head

static uint32_t random_below(leat_philox_t* random, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return words[0] % limit;
}

// Steps with kernels, in which are waits for the other threads' tasks and messages between them.
static void make(uint64_t seed, int steps) {
  static const int kEdges[][2] = {{0, 1}, {0, 2}, {1, 2}, {-1, -1}};
  leat_philox_t random = leat_philox_make(seed, 1);
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "pool");
  const uint32_t first = test_add_name(&r, "layer/a", "MatMul");
  test_add_name(&r, "layer/b", "Add");
  test_add_name(&r, "layer/c", "Relu");
  test_add_graph(&r, first, 3, kEdges);
  test_set_facts(&r, 1, &(leat_span_facts_t){LEAT_SV("/device:CPU:0"), LEAT_SV("float [2]"),
                                             LEAT_SV("train.py:7"), 2});
  int64_t now = 1000;
  for (int i = 0; i < steps; ++i) {
    const int64_t begin = now;
    const uint32_t mark = (uint32_t)i + 1;
    now += 10;
    for (uint32_t k = 0; k < 3; ++k) {
      const int64_t length = 20 + random_below(&random, 100);
      test_add_span_in_step(&r, 0, now, now + length, LEAT_SPAN_KERNEL, first + k, k, mark);
      if (k == 1) test_add_span(&r, 0, now + 5, now + 15, LEAT_SPAN_LOCK, 0, 101);
      if (k == 2) test_add_span(&r, 1, now, now + 2, LEAT_SPAN_SEND, first, 7000 + i);
      now += length + 1;
    }
    test_add_span(&r, 1, begin + 5, now - 30, LEAT_SPAN_TASK, 0, 3);
    test_add_span(&r, 0, begin, now, LEAT_SPAN_STEP, 0, i);
    now += random_below(&random, 50);
  }
  test_recording_write(&r, RECORDING);
  test_recording_deinitialize(&r);
}

// The bytes of a file, aligned as a mapping is.
static char* read_file(const char* path, size_t* out_size) {
  char* data;
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), path, leat_allocator_system(), &data,
                                    out_size));
  assert_int_equal((uintptr_t)data % 8, 0);
  return data;
}

static leat_status_t convert(leat_file_system_t* files, size_t limit_bytes) {
  leat_file_t* out;
  LEAT_RETURN_IF_ERROR(
      leat_file_open(files, IMAGE, LEAT_FILE_WRITE, leat_allocator_system(), &out));
  leat_timeline_t* timeline;
  leat_lane_spill_t spill;
  size_t bytes;
  leat_lane_spill_initialize(files, SPILL, limit_bytes, &spill);
  leat_status_t status = leat_timeline_read_spilled(files, RECORDING, &spill, &timeline);
  if (!status) status = leat_timeline_write_image(timeline, &spill, out, &bytes);
  leat_timeline_free(timeline);
  leat_lane_spill_deinitialize(&spill);
  if (status) {
    leat_status_free(leat_file_close(out));
    return status;
  }
  return leat_file_close(out);
}

static leat_timeline_t* open_image(const char* data, size_t size) {
  leat_timeline_t* timeline;
  size_t used = 0;
  LEAT_EXPECT_OK(leat_timeline_open_image(data, size, &timeline, &used));
  assert_int_equal(used, size);
  return timeline;
}

static void expect_same_row(const leat_timeline_row_t* a, const leat_timeline_row_t* b) {
  assert_true(a->uuid == b->uuid && a->process == b->process && a->thread == b->thread);
  assert_true(leat_string_view_equal(a->name, b->name));
  assert_int_equal(a->lane_count, b->lane_count);
  for (uint32_t l = 0; l < a->lane_count; ++l) {
    const leat_lane_t *x = &a->lanes[l], *y = &b->lanes[l];
    assert_int_equal(x->count, y->count);
    assert_memory_equal(x->slices, y->slices, x->count * sizeof *x->slices);
    assert_memory_equal(x->values, y->values, x->count * sizeof *x->values);
    assert_memory_equal(x->steps, y->steps, x->count * sizeof *x->steps);
  }
}

static void expect_same(const leat_timeline_t* a, const leat_timeline_t* b) {
  assert_int_equal(a->slice_count, b->slice_count);
  assert_true(a->begin_ns == b->begin_ns && a->end_ns == b->end_ns && a->damaged == b->damaged);
  assert_int_equal(a->name_count, b->name_count);
  for (size_t i = 0; i < a->name_count; ++i) {
    assert_true(leat_string_view_equal(a->names[i].op, b->names[i].op));
    assert_true(leat_string_view_equal(a->names[i].node, b->names[i].node));
    assert_true(a->names[i].kind == b->names[i].kind && a->names[i].graph == b->names[i].graph);
  }
  assert_int_equal(a->node_count, b->node_count);
  for (size_t i = 0; i < a->node_count; ++i) {
    const leat_timeline_node_t *x = &a->nodes[i], *y = &b->nodes[i];
    assert_true(x->graph == y->graph && leat_string_view_equal(x->name, y->name));
    assert_true(leat_string_view_equal(x->device, y->device) && x->flops == y->flops);
    assert_true(leat_string_view_equal(x->outputs, y->outputs));
    assert_true(leat_string_view_equal(x->source, y->source));
    assert_int_equal(x->producer_count, y->producer_count);
    assert_memory_equal(x->producers, y->producers, x->producer_count * sizeof *x->producers);
  }
  assert_int_equal(a->process_count, b->process_count);
  for (size_t i = 0; i < a->process_count; ++i) {
    assert_int_equal(a->processes[i].number, b->processes[i].number);
    assert_true(leat_string_view_equal(a->processes[i].name, b->processes[i].name));
  }
  assert_int_equal(a->clock_count, b->clock_count);
  if (a->clock_count) {
    assert_memory_equal(a->clocks, b->clocks, a->clock_count * sizeof *a->clocks);
  }
  assert_int_equal(a->row_count, b->row_count);
  for (size_t i = 0; i < a->row_count; ++i) expect_same_row(a->rows[i], b->rows[i]);
}

// Writes the recording of two processes, whose clocks are named, to one file.
static void make_cluster(void) {
  leat_string_builder_t file;
  leat_string_builder_initialize(leat_allocator_system(), &file);
  for (uint32_t process = 1; process < 3; ++process) {
    test_recording_t r;
    test_recording_initialize(&r);
    test_add_thread(&r, "worker");
    const uint32_t name = test_add_name(&r, "a", "Send");
    for (int64_t i = 0; i < 900; ++i) {
      test_add_span(&r, 0, 1000 + 30 * i, 1020 + 30 * i, LEAT_SPAN_KERNEL, name, i);
    }
    test_recording_append(&r, process, &file);
    test_recording_deinitialize(&r);
  }
  scratch_write_file(RECORDING, file.data, file.size);
  leat_string_builder_deinitialize(&file);
}

static void an_image_has_what_the_recording_has(void** state) {
  // Bytes of memory for the slices: all are spilled as soon as they can be; a few times; never.
  static const size_t kLimits[] = {0, 60000, SIZE_MAX};
  for (uint64_t seed = 0; seed < 6; ++seed) {
    leat_timeline_t* direct;
    if (seed == 5) {
      make_cluster();
    } else {
      make(seed, seed ? 1500 : 3);
    }
    LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), RECORDING, &direct));
    assert_true(seed != 5 || (direct->clock_count == 2 && direct->process_count == 2));
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLimits); ++i) {
      size_t size;
      LEAT_EXPECT_OK(convert(leat_file_system_posix(), kLimits[i]));
      assert_false(scratch_has(SPILL));
      char* data = read_file(IMAGE, &size);
      leat_timeline_t* timeline = open_image(data, size);
      expect_same(timeline, direct);
      assert_true(leat_timeline_verify(timeline));
      leat_timeline_free(timeline);
      leat_allocator_free(leat_allocator_system(), data);
    }
    leat_timeline_free(direct);
  }
}

// The memory of lanes stays near the limit, however many slices come.
static void slices_are_spilled(void** state) {
  leat_timeline_builder_t* builder;
  leat_lane_spill_t spill;
  const leat_slice_name_t name = {.op = LEAT_SV("a"), .kind = LEAT_SPAN_KERNEL};
  leat_timeline_row_t* row;
  size_t most = 0, count = 0;
  leat_lane_spill_initialize(leat_file_system_posix(), SPILL, 100000, &spill);
  LEAT_EXPECT_OK(leat_timeline_builder_create(&builder));
  leat_timeline_builder_set_spill(builder, &spill);
  LEAT_EXPECT_OK(leat_timeline_builder_row(builder, 1, &row));
  for (int64_t i = 0; i < 100000; ++i) {
    const leat_slice_facts_t facts = {.value = i};
    LEAT_EXPECT_OK(leat_timeline_builder_begin(builder, row, 10 * i, &name, &facts));
    leat_timeline_builder_end(builder, row, 10 * i + 5);
    most = LEAT_MAX(most, spill.held_bytes);
  }
  assert_true(most > 100000 && most < 250000);
  leat_timeline_t* timeline = leat_timeline_builder_finish(builder);
  LEAT_EXPECT_OK(leat_lane_spill_finish(&spill));
  for (size_t i = 0; i < spill.piece_count; ++i) count += spill.pieces[i].count;
  assert_int_equal(count + timeline->rows[0]->lanes[0].count, 100000);
  assert_true(spill.piece_count > 10 && spill.piece_count < 100);
  leat_timeline_free(timeline);
  leat_timeline_builder_free(builder);
  leat_lane_spill_deinitialize(&spill);
  assert_false(scratch_has(SPILL));
}

static void expect_links_in_lanes(const leat_delays_t* delays) {
  for (size_t i = 0; i < delays->graph->link_count; ++i) {
    const leat_span_link_t* link = &delays->graph->links[i];
    const leat_timeline_row_t* row = delays->timeline->rows[link->row];
    bool is_in_lane = false;
    for (uint32_t l = 0; l < row->lane_count; ++l) {
      is_in_lane |= link->slice >= row->lanes[l].slices &&
                    link->slice < row->lanes[l].slices + row->lanes[l].count;
    }
    assert_true(is_in_lane);
  }
}

static leat_status_t append(void* data, const void* bytes, size_t size) {
  leat_image_put(data, bytes, size);
  return leat_ok_status();
}

static void delays_come_back(void** state) {
  leat_timeline_t* timeline;
  leat_delays_t *found, *taken;
  leat_string_builder_t bytes, reports[2];
  make(9, 40);
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), RECORDING, &timeline));
  LEAT_EXPECT_OK(leat_delays_find(timeline, &found));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_delays_write(found, append, &bytes));
  leat_image_reader_t reader = {.next = bytes.data, .end = bytes.data + bytes.size};
  LEAT_EXPECT_OK(leat_delays_take(&reader, timeline, &taken));
  assert_non_null(taken);
  assert_ptr_equal(reader.next, reader.end);
  assert_int_equal(taken->step_count, 40);
  // They lie in the bytes.
  assert_true((char*)taken->entries > bytes.data && (char*)taken->entries < reader.end);
  assert_int_equal(taken->graph->link_count, 40);
  for (size_t i = 0; i < 40; ++i) {
    assert_memory_equal(&taken->graph->links[i], &found->graph->links[i],
                        sizeof *taken->graph->links);
  }
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &reports[i]);
    LEAT_EXPECT_OK(leat_delays_report(i ? taken : found, &reports[i]));
  }
  assert_string_equal(reports[1].data, reports[0].data);
  assert_non_null(strstr(reports[0].data, "lock"));
  leat_delays_free(taken);
  // Whatever is cut off or changed gives no delays, or others that can be told.
  for (size_t i = 0; i < bytes.size; i += 3) {
    reader = (leat_image_reader_t){.next = bytes.data, .end = bytes.data + i};
    LEAT_EXPECT_OK(leat_delays_take(&reader, timeline, &taken));
    assert_null(taken);
    assert_true(reader.has_failed);
    bytes.data[i] ^= (char)0x80;
    reader = (leat_image_reader_t){.next = bytes.data, .end = bytes.data + bytes.size};
    LEAT_EXPECT_OK(leat_delays_take(&reader, timeline, &taken));
    reports[1].size = 0;
    if (taken) {
      LEAT_EXPECT_OK(leat_delays_report(taken, &reports[1]));
      expect_links_in_lanes(taken);
    }
    leat_delays_free(taken);
    bytes.data[i] ^= (char)0x80;
  }
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&reports[i]);
  leat_string_builder_deinitialize(&bytes);
  leat_delays_free(found);
  leat_timeline_free(timeline);
}

// ---- Damage -------------------------------------------------------------------------------------

static char* make_image(size_t* out_size, size_t* out_head_end) {
  uint64_t head_bytes;
  make(2, 6);
  LEAT_EXPECT_OK(convert(leat_file_system_posix(), SIZE_MAX));
  char* data = read_file(IMAGE, out_size);
  memcpy(&head_bytes, data + 16, sizeof head_bytes);
  *out_head_end = FIXED_BYTES + (size_t)head_bytes;
  return data;
}

static bool is_opened(const char* data, size_t size, leat_timeline_t** out_timeline) {
  size_t used;
  leat_status_t status = leat_timeline_open_image(data, size, out_timeline, &used);
  const bool is_opened = !status;
  if (status) assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
  return is_opened;
}

static void a_changed_byte_is_noticed(void** state) {
  leat_timeline_t* timeline;
  size_t size, head_end, opened = 0;
  char* data = make_image(&size, &head_end);
  for (size_t i = 0; i < size; ++i) {
    data[i] ^= 4;
    if (is_opened(data, size, &timeline)) {
      // It is a byte of the slices or of their checksum.
      assert_true(i >= head_end);
      assert_false(leat_timeline_verify(timeline));
      leat_timeline_free(timeline);
      ++opened;
    }
    data[i] ^= 4;
  }
  assert_int_equal(opened, size - head_end);
  for (size_t cut = 0; cut < size; ++cut) assert_false(is_opened(data, cut, &timeline));
  leat_allocator_free(leat_allocator_system(), data);
}

// Looks at all that may be looked at before the slices are verified.
static void look_at(const leat_timeline_t* timeline) {
  const leat_time_window_t window = {timeline->begin_ns, timeline->end_ns + 1,
                                     (timeline->end_ns - timeline->begin_ns) / 50 + 1};
  size_t texts = 0;
  for (size_t i = 0; i < timeline->name_count; ++i) {
    texts += leat_string_view_hash(timeline->names[i].op) +
             leat_string_view_hash(timeline->names[i].node);
  }
  for (size_t i = 0; i < timeline->node_count; ++i) {
    for (uint32_t k = 0; k < timeline->nodes[i].producer_count; ++k) {
      texts += timeline->nodes[i].producers[k];
    }
  }
  for (size_t r = 0; r < timeline->row_count; ++r) {
    texts += leat_string_view_hash(timeline->rows[r]->name);
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
      leat_time_window_item_t item;
      leat_lane_cursor_t at = leat_lane_seek(lane, window.begin_ns);
      while (leat_lane_next(lane, &window, &at, &item)) assert_true(at.at <= lane->count);
      if (lane->count) texts += lane->steps[lane->count - 1];
      if (lane->count) texts += (size_t)lane->values[lane->count - 1];
    }
  }
  assert_true(texts != 1);  // it is made
}

static void fit_checksums(char* data, size_t head_end, size_t size) {
  const uint32_t crc = leat_crc32c(data + 12, head_end - 12);
  const uint64_t lanes_crc = leat_crc32c(data + head_end, size - 8 - head_end);
  memcpy(data + 8, &crc, sizeof crc);
  memcpy(data + size - 8, &lanes_crc, sizeof lanes_crc);
}

static void add_to_word(char* at, uint64_t added) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  word += added;
  memcpy(at, &word, sizeof word);
}

// No lane can get more or fewer slices, though the sum of all says the same.
static void lanes_fill_their_space(void** state) {
  static const uint64_t kAdded[] = {1, 2, UINT64_MAX, 1 << 20, (uint64_t)1 << 58};
  leat_timeline_t* timeline;
  size_t size, head_end;
  char* data = make_image(&size, &head_end);
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kAdded); ++k) {
    add_to_word(data + FIXED_BYTES, kAdded[k]);
    fit_checksums(data, head_end, size);
    assert_false(is_opened(data, size, &timeline));
    for (size_t i = FIXED_BYTES + 8; i + 8 <= head_end; ++i) {
      add_to_word(data + i, kAdded[k]);
      fit_checksums(data, head_end, size);
      assert_false(is_opened(data, size, &timeline));
      add_to_word(data + i, -kAdded[k]);
    }
    add_to_word(data + FIXED_BYTES, -kAdded[k]);
  }
  fit_checksums(data, head_end, size);
  assert_true(is_opened(data, size, &timeline));
  leat_timeline_free(timeline);
  leat_allocator_free(leat_allocator_system(), data);
}

// Whether an image is opened that has a name of |kind| and a row of |lanes| lanes without slices.
static bool is_head_opened(uint64_t kind, uint64_t lanes) {
  size_t size, head_end;
  leat_timeline_t* timeline;
  leat_string_builder_t image;
  char* other = make_image(&size, &head_end);
  leat_string_builder_initialize(leat_allocator_system(), &image);
  leat_image_put(&image, other, FIXED_BYTES);
  for (int i = 0; i < 4; ++i) leat_image_put_word(&image, 0);  // the sums
  leat_image_put_word(&image, 1);
  leat_image_put_text(&image, LEAT_SV("op"));
  leat_image_put_text(&image, LEAT_SV("node"));
  leat_image_put_word(&image, kind);
  for (int i = 0; i < 4; ++i) leat_image_put_word(&image, 0);  // graph, nodes, processes, clocks
  leat_image_put_word(&image, 1);
  for (int i = 0; i < 3; ++i) leat_image_put_word(&image, 0);  // of the row
  leat_image_put_word(&image, lanes);
  leat_image_put_text(&image, LEAT_SV("row"));
  for (uint64_t i = 0; i < lanes; ++i) leat_image_put_word(&image, 0);
  leat_image_pad(&image);
  const uint64_t sizes[] = {image.size - FIXED_BYTES, 0};
  memcpy(image.data + 16, sizes, sizeof sizes);
  leat_image_put_word(&image, 0);
  fit_checksums(image.data, image.size - 8, image.size);
  const bool is_good = is_opened(image.data, image.size, &timeline);
  if (is_good) {
    look_at(timeline);
    assert_true(leat_timeline_verify(timeline));
    leat_timeline_free(timeline);
  }
  leat_string_builder_deinitialize(&image);
  leat_allocator_free(leat_allocator_system(), other);
  return is_good;
}

static void kinds_and_depths_are_limited(void** state) {
  assert_true(is_head_opened(LEAT_SPAN_KERNEL, 2));
  assert_true(is_head_opened(LEAT_SPAN_KINDS, LEAT_TIMELINE_MAX_DEPTH));
  assert_false(is_head_opened(LEAT_SPAN_KINDS + 1, 2));
  assert_false(is_head_opened((uint64_t)1 << 32, 2));
  assert_false(is_head_opened(LEAT_SPAN_KERNEL, LEAT_TIMELINE_MAX_DEPTH + 1));
}

// Checksums tell what a disk did. Here they are made to fit, as somebody who means it would.
static void numbers_are_checked_behind_right_checksums(void** state) {
  static const uint8_t kChanges[] = {0x01, 0x80, 0xff};
  leat_timeline_t* timeline;
  size_t size, head_end, refused = 0;
  char* data = make_image(&size, &head_end);
  for (size_t i = 12; i < size; ++i) {
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(kChanges); ++k) {
      data[i] ^= (char)kChanges[k];
      fit_checksums(data, head_end, size);
      if (is_opened(data, size, &timeline)) {
        look_at(timeline);
        // What passes both may be walked.
        if (leat_timeline_verify(timeline)) {
          leat_delays_t* delays;
          LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
          leat_delays_free(delays);
        } else {
          ++refused;
        }
        leat_timeline_free(timeline);
      }
      if (i < size - 8) data[i] ^= (char)kChanges[k];
    }
  }
  assert_true(refused > 100);  // times out of order, sums and names
  leat_allocator_free(leat_allocator_system(), data);
}

// Whichever call fails, there is an error, except where a file that was read cannot be closed or
// the spilled slices not be removed, which takes nothing from the image.
static void failing_files_give_errors(void** state) {
  int failures = 0;
  bool is_over = false;
  make(4, 1200);
  for (int call = 1; !is_over; ++call) {
    leat_file_system_faulty_t faulty;
    leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
    faulty.failing_call = call;
    leat_status_t status = convert(&faulty.base, 30000);
    is_over = faulty.call_count < call;
    failures += !!status;
    if (status) {
      assert_int_equal(leat_status_code(status), LEAT_UNAVAILABLE);
      leat_status_free(status);
    } else {
      size_t size;
      char* data = read_file(IMAGE, &size);
      leat_timeline_t* timeline = open_image(data, size);
      assert_true(leat_timeline_verify(timeline));
      leat_timeline_free(timeline);
      leat_allocator_free(leat_allocator_system(), data);
    }
    remove(SPILL);
  }
  assert_true(failures > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_image_has_what_the_recording_has),
      cmocka_unit_test(slices_are_spilled),
      cmocka_unit_test(delays_come_back),
      cmocka_unit_test(a_changed_byte_is_noticed),
      cmocka_unit_test(lanes_fill_their_space),
      cmocka_unit_test(kinds_and_depths_are_limited),
      cmocka_unit_test(numbers_are_checked_behind_right_checksums),
      cmocka_unit_test(failing_files_give_errors),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}

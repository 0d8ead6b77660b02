// Events that fit a template are read as they are without one. Each event is read twice: in a
// packet of the usual form, which is compared with templates, and in one with a field more, whose
// fields are walked. Both recordings must be the same, whatever the events are.
#include "trace/event_template.h"

#include <stdio.h>

#include "base/random.h"
#include "base/string_builder.h"
#include "base/test.h"
#include "formats/wire/wire.h"
#include "scratch.h"

typedef struct bytes_s {
  uint8_t data[800];
  size_t size;
} bytes_t;

static uint32_t random_below(leat_philox_t* random, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return words[0] % limit;
}

static void put_byte(bytes_t* out, uint8_t byte) {
  assert_true(out->size < sizeof out->data);
  out->data[out->size++] = byte;
}

static void put_varint(bytes_t* out, uint64_t value) {
  for (; value > 0x7f; value >>= 7) put_byte(out, (uint8_t)(value | 0x80));
  put_byte(out, (uint8_t)value);
}

static void put_text(bytes_t* out, uint64_t tag, const void* text, size_t size) {
  put_varint(out, tag);
  put_varint(out, size);
  for (size_t i = 0; i < size; ++i) put_byte(out, ((const uint8_t*)text)[i]);
}

static void put_word(bytes_t* out, uint64_t tag, const char* text) {
  put_text(out, tag, text, strlen(text));
}

static void put_number(bytes_t* out, const char* name, uint64_t number) {
  bytes_t annotation = {.size = 0};
  put_varint(&annotation, 4 << 3);
  put_varint(&annotation, number);
  put_word(&annotation, 10 << 3 | 2, name);
  put_text(out, 4 << 3 | 2, annotation.data, annotation.size);
}

static void put_note(bytes_t* out, const char* name, const char* text) {
  bytes_t annotation = {.size = 0};
  put_word(&annotation, 6 << 3 | 2, text);
  put_word(&annotation, 10 << 3 | 2, name);
  put_text(out, 4 << 3 | 2, annotation.data, annotation.size);
}

// Numbers of all lengths, of which most are those of few steps.
static uint64_t random_number(leat_philox_t* random) {
  return random_below(random, 2) ? random_below(random, 4)
                                 : UINT64_MAX >> random_below(random, 64);
}

// An event as recordings have them, of one of a few names.
static bytes_t make_event(leat_philox_t* random) {
  static const char* const kNodes[] = {"", "a", "layer_1/mul", "layer_1/add", "layer_2/mul",
                                       "a/scope/with/a/name/of/more/than/a/hundred/and/twenty/"
                                       "seven/bytes/and/a/scope/in/it/with/another/and/some/more/"
                                       "of/them/mul"};
  static const char* const kOps[] = {"Mul", "MatMul", "", "_FusedMatMul"};
  bytes_t event = {.size = 0};
  const char* node = kNodes[random_below(random, LEAT_ARRAY_SIZE(kNodes))];
  if (*node) put_note(&event, "node", node);
  if (random_below(random, 4)) put_number(&event, "input bytes", random_number(random));
  if (!random_below(random, 4)) put_number(&event, "by", random_number(random));
  if (random_below(random, 2)) put_number(&event, "graph", 1 + random_below(random, 2));
  if (random_below(random, 4)) put_number(&event, "in step", random_number(random));
  // Others than Leat write texts of all names, each of which counts as a number 0.
  if (!random_below(random, 4)) put_note(&event, random_below(random, 2) ? "by" : "note", "text");
  put_varint(&event, 9 << 3);
  put_varint(&event, random_below(random, 8) ? 1 : random_below(random, 4));
  put_varint(&event, 11 << 3);
  put_varint(&event, (uint64_t)(1 + random_below(random, 2)) << 32 | random_below(random, 3));
  put_word(&event, 22 << 3 | 2, random_below(random, 3) ? "kernel" : "task");
  put_word(&event, 23 << 3 | 2, kOps[random_below(random, LEAT_ARRAY_SIZE(kOps))]);
  return event;
}

// |second| is NULL or another event in the same packet, which nobody writes: it is as if the fields
// of both were one event's.
static void put_packet(leat_string_builder_t* out, uint64_t time_ns, const bytes_t* event,
                       const bytes_t* second, bool is_usual) {
  bytes_t packet = {.size = 0}, head = {.size = 0};
  put_varint(&packet, 8 << 3);
  put_varint(&packet, time_ns);
  put_varint(&packet, 10 << 3);
  put_byte(&packet, 1);
  put_text(&packet, 11 << 3 | 2, event->data, event->size);
  if (second) put_text(&packet, 11 << 3 | 2, second->data, second->size);
  put_varint(&packet, 58 << 3);
  put_byte(&packet, 3);
  if (!is_usual) {
    put_varint(&packet, 59 << 3);
    put_byte(&packet, 0);
  }
  put_varint(&head, 1 << 3 | 2);
  put_varint(&head, packet.size);
  leat_string_builder_append(out, leat_string_view_make((const char*)head.data, head.size));
  leat_string_builder_append(out, leat_string_view_make((const char*)packet.data, packet.size));
}

static void tell_lane(const leat_timeline_t* timeline, const leat_lane_t* lane,
                      leat_string_builder_t* out) {
  for (size_t i = 0; i < lane->count; ++i) {
    const leat_slice_t* slice = &lane->slices[i];
    const leat_slice_name_t* name = &timeline->names[slice->name];
    leat_string_builder_print(
        out, "  %lld %lld %u %u %lld %u '%.*s' '%.*s' %u %llx\n", (long long)slice->begin_ns,
        (long long)slice->end_ns, slice->name, slice->by, (long long)lane->values[i],
        lane->steps[i], LEAT_SV_ARG(name->op), LEAT_SV_ARG(name->node), name->kind,
        (unsigned long long)name->graph);
  }
}

// Reads |file| and tells all that is in it; what is no trace gives an empty text.
static void tell(const leat_string_builder_t* file, leat_string_builder_t* out) {
  leat_timeline_t* timeline;
  scratch_write_file("told.perfetto-trace", file->data, file->size);
  leat_status_t status =
      leat_timeline_read(leat_file_system_posix(), "told.perfetto-trace", &timeline);
  leat_string_builder_initialize(leat_allocator_system(), out);
  if (!status) {
    for (size_t r = 0; r < timeline->row_count; ++r) {
      const leat_timeline_row_t* row = timeline->rows[r];
      leat_string_builder_print(out, "row %llx of %u lanes\n",
                                        (unsigned long long)row->uuid, row->lane_count);
      for (uint32_t l = 0; l < row->lane_count; ++l) tell_lane(timeline, &row->lanes[l], out);
    }
    leat_string_builder_print(out, "%zu slices, %llu damaged\n", timeline->slice_count,
                                      (unsigned long long)timeline->damaged);
    leat_timeline_free(timeline);
  }
  leat_status_free(status);
}

static void expect_equal(leat_string_builder_t files[2]) {
  leat_string_builder_t told[2];
  for (int i = 0; i < 2; ++i) tell(&files[i], &told[i]);
  const bool is_equal = leat_string_view_equal(leat_string_builder_view(&told[0]),
                                               leat_string_builder_view(&told[1]));
  if (!is_equal) {
    printf("with templates\n%.*s\nwithout\n%.*s\n", (int)told[0].size, told[0].data,
           (int)told[1].size, told[1].data);
  }
  assert_true(is_equal);
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_deinitialize(&told[i]);
    leat_string_builder_deinitialize(&files[i]);
  }
}

static void initialize(leat_string_builder_t files[2]) {
  for (int i = 0; i < 2; ++i) leat_string_builder_initialize(leat_allocator_system(), &files[i]);
}

// Changes a byte, takes one away, adds one, or puts two events together.
static void damage(leat_philox_t* random, bytes_t* event) {
  const size_t at = random_below(random, (uint32_t)event->size);
  const uint8_t byte = (uint8_t)random_below(random, 256);
  bytes_t more;
  switch (random_below(random, 4)) {
    case 0: event->data[at] = byte; break;
    case 1: memmove(event->data + at, event->data + at + 1, --event->size - at); break;
    case 2:
      put_byte(event, byte);
      memmove(event->data + at + 1, event->data + at, event->size - 1 - at);
      event->data[at] = byte;
      break;
    default:
      more = make_event(random);
      if (event->size + more.size > 400) break;
      memcpy(event->data + event->size, more.data, more.size);
      event->size += more.size;
  }
}

static void events_are_read_as_without_templates(void** state) {
  leat_philox_t random = leat_philox_make(17, 3);
  for (int turn = 0; turn < 30; ++turn) {
    leat_string_builder_t files[2];
    initialize(files);
    for (uint64_t now = 1; now < 300; ++now) {
      const bytes_t event = make_event(&random), other = make_event(&random);
      const bytes_t* first = random_below(&random, 16) ? NULL : &other;
      for (int i = 0; i < 2; ++i) {
        if (first) put_packet(&files[i], now, first, &event, i == 0);
        put_packet(&files[i], now, &event, NULL, i == 0);
      }
    }
    expect_equal(files);
  }
}

// Most damage makes an event malformed, and ends the reading; so each recording has one such event,
// behind others whose templates it may fit, and in front of some that may fit its own.
static void damaged_events_are_read_as_without_templates(void** state) {
  leat_philox_t random = leat_philox_make(17, 4);
  size_t whole = 0;
  for (int turn = 0; turn < 400; ++turn) {
    leat_string_builder_t files[2], told;
    initialize(files);
    bytes_t first = make_event(&random);
    for (uint64_t now = 1; now < 10; ++now) {
      bytes_t event = now % 3 ? first : make_event(&random);
      if (now == 5) damage(&random, &event);
      for (int i = 0; i < 2; ++i) put_packet(&files[i], now, &event, NULL, i == 0);
    }
    tell(&files[0], &told);
    whole += told.size > 0;
    leat_string_builder_deinitialize(&told);
    expect_equal(files);
  }
  assert_in_range(whole, 50, 350);
}

// Of a thousand names nearly all keep a place of their own.
static void many_names_have_templates(void** state) {
  leat_event_templates_t* templates;
  leat_event_numbers_t numbers;
  uint32_t found = 0;
  LEAT_EXPECT_OK(leat_event_templates_create(&templates));
  for (int turn = 0; turn < 2; ++turn) {
    for (uint32_t i = 0; i < 1000; ++i) {
      char node[40];
      bytes_t event = {.size = 0};
      snprintf(node, sizeof node, "layer_%u/part_%u/MatMul", i % 100, i / 100);
      put_note(&event, "node", node);
      put_word(&event, 23 << 3 | 2, i % 2 ? "Mul" : "MatMul");
      const leat_string_view_t view = leat_string_view_make((const char*)event.data, event.size);
      if (turn) {
        found += leat_event_templates_find(templates, view, &numbers) && numbers.name == i;
      } else {
        LEAT_EXPECT_OK(leat_event_templates_add(templates, view, i));
      }
    }
  }
  assert_in_range(found, 970, 1000);
  leat_event_templates_free(templates);
}

// Looking for a template costs less than walking: an event like one before it has to fit.
static void an_event_with_other_numbers_fits(void** state) {
  leat_event_templates_t* templates;
  leat_event_numbers_t numbers;
  leat_string_view_t views[3];
  bytes_t events[3] = {{.size = 0}};
  LEAT_EXPECT_OK(leat_event_templates_create(&templates));
  for (int i = 0; i < 3; ++i) {
    put_note(&events[i], "node", "layer/mul");
    put_number(&events[i], "input bytes", i ? 1000000 : 5);
    put_number(&events[i], "by", 70 + (uint64_t)i);
    put_number(&events[i], "in step", 127 + (uint64_t)i);
    put_varint(&events[i], 9 << 3);
    put_varint(&events[i], 1);
    put_varint(&events[i], 11 << 3);
    put_varint(&events[i], (uint64_t)7 << 32 | (uint64_t)i);
    put_word(&events[i], 22 << 3 | 2, "kernel");
    put_word(&events[i], 23 << 3 | 2, i == 2 ? "Mul" : "MatMul");
    views[i] = leat_string_view_make((const char*)events[i].data, events[i].size);
  }
  assert_false(leat_event_templates_find(templates, views[0], &numbers));
  LEAT_EXPECT_OK(leat_event_templates_add(templates, views[0], 42));
  assert_true(leat_event_templates_find(templates, views[1], &numbers));
  assert_int_equal(numbers.name, 42);
  assert_int_equal(numbers.uuid, (uint64_t)7 << 32 | 1);
  assert_int_equal(numbers.facts.value, 1000000);
  assert_int_equal(numbers.facts.by, 71);
  assert_int_equal(numbers.facts.step, 128);
  assert_false(leat_event_templates_find(templates, views[2], &numbers));
  leat_event_templates_free(templates);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_are_read_as_without_templates),
      cmocka_unit_test(damaged_events_are_read_as_without_templates),
      cmocka_unit_test(many_names_have_templates),
      cmocka_unit_test(an_event_with_other_numbers_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

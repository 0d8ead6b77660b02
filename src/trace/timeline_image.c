// The head of an image has everything but the slices, and is small; the lanes follow it, each array
// in one piece, so that a lane of the timeline points into the image:
//
//   "LEATTIM2" | u32 crc of what follows up to the lanes | u32 layout | u64 bytes of the head |
//   u64 bytes of the lanes | head | lanes | u64 crc of the lanes
//   head:  sums, names, nodes, processes, clocks, rows with the counts of their lanes
//   lanes: of each row and depth the slices, the values, the steps, filled up to a multiple of 8
//
// No offset is stored: where a lane lies follows from the counts before it, and the sum of all must
// be the bytes that there are. "layout" changes with the kinds of spans and the size of a slice, so
// that an image of another version is not taken for one of this.
//
// Writing goes from front to back and never holds more than the lanes that are in memory: what was
// spilled (trace/lane_spill.h) is copied piece by piece. The file is written and not mapped
// meanwhile, because a full disk is an error of a write and the death of who writes to a mapping.
#include "trace/timeline_image.h"

#include "base/checked.h"
#include "base/crc32c.h"
#include "trace/image_bytes.h"
#include "trace/lane_spill.h"

#define MAGIC "LEATTIM2"
#define FIXED_BYTES 32
#define TAIL_BYTES 8
#define COPY_BYTES ((size_t)1 << 20)
#define MAX_TIME_NS (INT64_MAX / 4)  // as that of trace/timeline.c
#define LAYOUT ((uint32_t)(LEAT_SPAN_KINDS << 16 | LEAT_LANE_ITEM_BYTES))

// The bytes of a lane of |count| slices in an image; false: more than there can be.
static bool lane_bytes(uint64_t count, size_t* out_bytes) {
  if (!leat_checked_multiply(count, LEAT_LANE_ITEM_BYTES, out_bytes) ||
      *out_bytes > SIZE_MAX - 8) {
    return false;
  }
  *out_bytes = leat_align_up(*out_bytes, 8);
  return true;
}

// ---- Writing ------------------------------------------------------------------------------------

typedef struct writer_s {
  const leat_timeline_t* timeline;
  leat_lane_spill_t* spill;
  leat_file_t* spilled;  // for reading; NULL: nothing was
  leat_file_t* out;
  size_t bytes;  // that were written
  uint32_t crc;  // of the lanes
  char* buffer;  // [COPY_BYTES]
} writer_t;

// How many slices of a lane were spilled, in the pieces from |first| on to |*out_end|.
static size_t spilled_count(const leat_lane_spill_t* spill, size_t first, uint32_t row,
                            uint32_t lane, size_t* out_end) {
  size_t count = 0, end = first;
  for (; end < spill->piece_count && spill->pieces[end].row == row &&
         spill->pieces[end].lane == lane; ++end) {
    count += spill->pieces[end].count;
  }
  *out_end = end;
  return count;
}

static void put_rows(const leat_timeline_t* timeline, const leat_lane_spill_t* spill,
                     leat_string_builder_t* head, size_t* out_lane_bytes) {
  size_t piece = 0;
  *out_lane_bytes = 0;
  leat_image_put_word(head, timeline->row_count);
  for (uint32_t r = 0; r < timeline->row_count; ++r) {
    const leat_timeline_row_t* row = timeline->rows[r];
    const uint64_t words[] = {row->uuid, (uint64_t)row->process, (uint64_t)row->thread,
                              row->lane_count};
    leat_image_put(head, words, sizeof words);
    leat_image_put_text(head, row->name);
    for (uint32_t l = 0; l < row->lane_count; ++l) {
      const size_t count = spilled_count(spill, piece, r, l, &piece) + row->lanes[l].count;
      size_t bytes = 0;
      const bool fits = lane_bytes(count, &bytes);
      LEAT_DCHECK(fits);  // the slices were in memory or in a file
      leat_image_put_word(head, count);
      *out_lane_bytes += fits ? bytes : 0;
    }
  }
}

static void put_head(const leat_timeline_t* timeline, const leat_lane_spill_t* spill,
                     leat_string_builder_t* head, size_t* out_lane_bytes) {
  const uint64_t sums[] = {timeline->slice_count, (uint64_t)timeline->begin_ns,
                           (uint64_t)timeline->end_ns, timeline->damaged};
  leat_image_put(head, sums, sizeof sums);
  leat_image_put_word(head, timeline->name_count);
  for (size_t i = 0; i < timeline->name_count; ++i) {
    const leat_slice_name_t* name = &timeline->names[i];
    leat_image_put_text(head, name->op);
    leat_image_put_text(head, name->node);
    leat_image_put_word(head, name->kind);
    leat_image_put_word(head, name->graph);
  }
  leat_image_put_word(head, timeline->node_count);
  for (size_t i = 0; i < timeline->node_count; ++i) {
    const leat_timeline_node_t* node = &timeline->nodes[i];
    leat_image_put_word(head, node->graph);
    leat_image_put_text(head, node->name);
    leat_image_put_word(head, node->producer_count);
    leat_image_put(head, node->producers, node->producer_count * sizeof *node->producers);
    leat_image_put_text(head, node->device);
    leat_image_put_text(head, node->outputs);
    leat_image_put_text(head, node->source);
    leat_image_put_word(head, (uint64_t)node->flops);
  }
  leat_image_put_word(head, timeline->process_count);
  for (size_t i = 0; i < timeline->process_count; ++i) {
    leat_image_put_word(head, (uint64_t)timeline->processes[i].number);
    leat_image_put_text(head, timeline->processes[i].name);
  }
  leat_image_put_word(head, timeline->clock_count);
  leat_image_put(head, timeline->clocks, timeline->clock_count * sizeof *timeline->clocks);
  put_rows(timeline, spill, head, out_lane_bytes);
  leat_image_pad(head);
}

static leat_status_t write_bytes(writer_t* writer, const void* data, size_t size) {
  if (size == 0) return leat_ok_status();
  writer->crc = leat_crc32c_extend(writer->crc, data, size);
  return writer->out->vtable->write(writer->out, data, size);
}

static leat_status_t copy_spilled(writer_t* writer, uint64_t offset, size_t size) {
  while (size) {
    const size_t part = LEAT_MIN(size, COPY_BYTES);
    LEAT_RETURN_IF_ERROR(leat_file_read_exactly(writer->spilled, offset, writer->buffer, part));
    LEAT_RETURN_IF_ERROR(write_bytes(writer, writer->buffer, part));
    offset += part;
    size -= part;
  }
  return leat_ok_status();
}

// Writes one of the arrays of a lane: the part of each of its pieces, then what is in memory. In a
// piece it lies behind |before_bytes| of each slice.
static leat_status_t write_array(writer_t* writer, size_t first, size_t end, size_t before_bytes,
                                 size_t item_bytes, const void* items, size_t count) {
  for (size_t i = first; i < end; ++i) {
    const leat_lane_piece_t* piece = &writer->spill->pieces[i];
    LEAT_RETURN_IF_ERROR(copy_spilled(writer, piece->offset + piece->count * before_bytes,
                                      piece->count * item_bytes));
  }
  return write_bytes(writer, items, count * item_bytes);
}

static leat_status_t write_lanes(writer_t* writer) {
  static const char kZeros[8] = "";
  const leat_timeline_t* timeline = writer->timeline;
  size_t first = 0, end;
  for (uint32_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l, first = end) {
      const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
      const size_t count = spilled_count(writer->spill, first, r, l, &end) + lane->count;
      const size_t slice_bytes = sizeof *lane->slices, value_bytes = sizeof *lane->values;
      LEAT_RETURN_IF_ERROR(
          write_array(writer, first, end, 0, slice_bytes, lane->slices, lane->count));
      LEAT_RETURN_IF_ERROR(
          write_array(writer, first, end, slice_bytes, value_bytes, lane->values, lane->count));
      LEAT_RETURN_IF_ERROR(write_array(writer, first, end, slice_bytes + value_bytes,
                                       sizeof *lane->steps, lane->steps, lane->count));
      if (count % 2) LEAT_RETURN_IF_ERROR(write_bytes(writer, kZeros, sizeof *lane->steps));
    }
  }
  LEAT_DCHECK(first == writer->spill->piece_count);
  const uint64_t crc = writer->crc;
  return writer->out->vtable->write(writer->out, &crc, sizeof crc);
}

static leat_status_t write_head(writer_t* writer) {
  leat_string_builder_t head;
  size_t lanes = 0;
  leat_string_builder_initialize(leat_allocator_system(), &head);
  put_head(writer->timeline, writer->spill, &head, &lanes);
  char fixed[FIXED_BYTES] = MAGIC;
  const uint32_t layout = LAYOUT;
  const uint64_t sizes[] = {head.size, lanes};
  memcpy(fixed + 12, &layout, sizeof layout);
  memcpy(fixed + 16, sizes, sizeof sizes);
  uint32_t crc = leat_crc32c(fixed + 12, FIXED_BYTES - 12);
  leat_status_t status = leat_status_clone(head.status);
  if (!status) {
    crc = leat_crc32c_extend(crc, head.data, head.size);
    memcpy(fixed + 8, &crc, sizeof crc);
    status = writer->out->vtable->write(writer->out, fixed, sizeof fixed);
  }
  if (!status) status = writer->out->vtable->write(writer->out, head.data, head.size);
  writer->bytes = sizeof fixed + head.size + lanes + TAIL_BYTES;
  leat_string_builder_deinitialize(&head);
  return status;
}

leat_status_t leat_timeline_write_image(const leat_timeline_t* timeline,
                                        leat_lane_spill_t* spill, leat_file_t* out,
                                        size_t* out_bytes) {
  leat_allocator_t* a = leat_allocator_system();
  writer_t writer = {.timeline = timeline, .spill = spill, .out = out};
  leat_status_t status = leat_lane_spill_finish(spill);
  if (!status && spill->piece_count) {
    status = leat_file_open(spill->files, spill->path, LEAT_FILE_READ, a, &writer.spilled);
  }
  if (!status) {
    status =
        leat_allocator_allocate_uninitialized(a, 16, COPY_BYTES, (void**)&writer.buffer);
  }
  if (!status) status = write_head(&writer);
  if (!status) status = write_lanes(&writer);
  leat_allocator_free(a, writer.buffer);
  leat_status_free(leat_file_close(writer.spilled));
  *out_bytes = writer.bytes;
  return status;
}

leat_status_t leat_timeline_read_spilled(leat_file_system_t* files, const char* path,
                                         leat_lane_spill_t* spill,
                                         leat_timeline_t** out_timeline) {
  leat_timeline_builder_t* builder = NULL;
  *out_timeline = NULL;
  leat_status_t status = leat_timeline_builder_create(&builder);
  if (!status) {
    leat_timeline_builder_set_spill(builder, spill);
    status = leat_timeline_read_into(files, path, builder);
  }
  if (!status) *out_timeline = leat_timeline_builder_finish(builder);
  leat_timeline_builder_free(builder);
  return status;
}

// ---- Opening ------------------------------------------------------------------------------------

static leat_status_t take_names(leat_image_reader_t* reader, leat_timeline_t* timeline) {
  const size_t count = leat_image_take_count(reader, 4 * sizeof(uint64_t) + 2);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count + 1, &timeline->names));
  for (size_t i = 0; i < count; ++i) {
    leat_slice_name_t* name = &timeline->names[i];
    name->op = leat_image_take_text(reader);
    name->node = leat_image_take_text(reader);
    const uint64_t kind = leat_image_take_word(reader);
    name->graph = leat_image_take_word(reader);
    name->kind = (uint32_t)kind;
    reader->has_failed |= kind > LEAT_SPAN_KINDS;
  }
  timeline->name_count = count;
  reader->has_failed |= count >= UINT32_MAX;
  return leat_ok_status();
}

static leat_status_t take_nodes(leat_image_reader_t* reader, leat_timeline_t* timeline) {
  const size_t count = leat_image_take_count(reader, 7 * sizeof(uint64_t) + 4);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count + 1, &timeline->nodes));
  for (size_t i = 0; i < count; ++i) {
    leat_timeline_node_t* node = &timeline->nodes[i];
    node->graph = leat_image_take_word(reader);
    node->name = leat_image_take_text(reader);
    const size_t producers = leat_image_take_count(reader, sizeof *node->producers);
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&timeline->arena, producers + 1, &node->producers));
    leat_image_take_items(reader, node->producers, producers, sizeof *node->producers);
    node->producer_count = (uint32_t)producers;
    node->device = leat_image_take_text(reader);
    node->outputs = leat_image_take_text(reader);
    node->source = leat_image_take_text(reader);
    node->flops = (int64_t)leat_image_take_word(reader);
    reader->has_failed |= producers > UINT32_MAX;
  }
  timeline->node_count = count;
  reader->has_failed |= count >= UINT32_MAX;
  return leat_ok_status();
}

static leat_status_t take_processes(leat_image_reader_t* reader, leat_timeline_t* timeline) {
  leat_allocator_t* a = leat_allocator_system();
  const size_t processes = leat_image_take_count(reader, 2 * sizeof(uint64_t) + 1);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, processes + 1, &timeline->processes));
  for (size_t i = 0; i < processes; ++i) {
    timeline->processes[i].number = (int64_t)leat_image_take_word(reader);
    timeline->processes[i].name = leat_image_take_text(reader);
  }
  timeline->process_count = processes;
  const size_t clocks = leat_image_take_count(reader, sizeof *timeline->clocks);
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, clocks + 1, &timeline->clocks));
  leat_image_take_items(reader, timeline->clocks, clocks, sizeof *timeline->clocks);
  timeline->clock_count = clocks;
  return leat_ok_status();
}

// Where the lanes lie, of which |bytes| are left at |next|.
typedef struct lane_space_s {
  char* next;
  size_t bytes;
} lane_space_t;

static void take_lane(leat_image_reader_t* reader, lane_space_t* space, leat_lane_t* lane) {
  const uint64_t count = leat_image_take_word(reader);
  size_t bytes;
  if (reader->has_failed || !lane_bytes(count, &bytes) || bytes > space->bytes) {
    reader->has_failed = true;
    return;
  }
  lane->count = lane->capacity = (size_t)count;
  lane->slices = (leat_slice_t*)space->next;
  lane->values = (int64_t*)(lane->slices + count);
  lane->steps = (uint32_t*)(lane->values + count);
  space->next += bytes;
  space->bytes -= bytes;
}

static leat_status_t take_rows(leat_image_reader_t* reader, lane_space_t* space,
                               leat_timeline_t* timeline) {
  const size_t count = leat_image_take_count(reader, 5 * sizeof(uint64_t) + 1);
  size_t slices = 0;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count + 1, &timeline->rows));
  for (size_t i = 0; i < count && !reader->has_failed; ++i) {
    leat_timeline_row_t* row;
    uint64_t words[4];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&timeline->arena, 1, &row));
    timeline->rows[timeline->row_count++] = row;
    leat_image_take_into(reader, words, sizeof words);
    row->uuid = words[0];
    row->process = (int64_t)words[1];
    row->thread = (int64_t)words[2];
    row->name = leat_image_take_text(reader);
    reader->has_failed |= words[3] > LEAT_TIMELINE_MAX_DEPTH;
    while (!reader->has_failed && row->lane_count < words[3]) {
      leat_lane_t* lane = &row->lanes[row->lane_count++];
      take_lane(reader, space, lane);
      slices += lane->count;  // they are bytes of the image, so this does not overflow
    }
  }
  reader->has_failed |= slices != timeline->slice_count || space->bytes != 0;
  return leat_ok_status();
}

static leat_status_t take_head(leat_image_reader_t* reader, lane_space_t* space,
                               leat_timeline_t* timeline) {
  uint64_t sums[4];
  leat_image_take_into(reader, sums, sizeof sums);
  timeline->slice_count = (size_t)sums[0];
  timeline->begin_ns = (int64_t)sums[1];
  timeline->end_ns = (int64_t)sums[2];
  timeline->damaged = sums[3];
  reader->has_failed |= timeline->begin_ns < 0 || timeline->end_ns < timeline->begin_ns ||
                        timeline->end_ns > MAX_TIME_NS;
  LEAT_RETURN_IF_ERROR(take_names(reader, timeline));
  LEAT_RETURN_IF_ERROR(take_nodes(reader, timeline));
  LEAT_RETURN_IF_ERROR(take_processes(reader, timeline));
  return take_rows(reader, space, timeline);
}

static leat_status_t not_an_image(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Opening failed for an image of a recording: %s is not as it was "
                          "written, must be an image of this version", what);
}

leat_status_t leat_timeline_open_image(const void* bytes, size_t size,
                                       leat_timeline_t** out_timeline, size_t* out_used_bytes) {
  const char* fixed = bytes;
  uint64_t sizes[2];
  uint32_t crc, layout;
  leat_timeline_t* timeline;
  *out_timeline = NULL;
  LEAT_DCHECK((uintptr_t)bytes % 8 == 0);
  if (size < FIXED_BYTES + TAIL_BYTES || memcmp(fixed, MAGIC, 8)) return not_an_image("the magic");
  memcpy(&crc, fixed + 8, sizeof crc);
  memcpy(&layout, fixed + 12, sizeof layout);
  memcpy(sizes, fixed + 16, sizeof sizes);
  const uint64_t rest = size - FIXED_BYTES - TAIL_BYTES;
  if (layout != LAYOUT) return not_an_image("the layout");
  if (sizes[0] > rest || sizes[1] > rest - sizes[0] || sizes[0] % 8 || sizes[1] % 8) {
    return not_an_image("the size");
  }
  if (leat_crc32c(fixed + 12, FIXED_BYTES - 12 + (size_t)sizes[0]) != crc) {
    return not_an_image("the head");
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &timeline));
  const size_t lanes = FIXED_BYTES + (size_t)sizes[0];
  *out_used_bytes = lanes + (size_t)sizes[1] + TAIL_BYTES;
  timeline->image = leat_string_view_make(fixed, *out_used_bytes);
  leat_arena_initialize(leat_allocator_system(), 0, &timeline->arena);
  leat_image_reader_t reader = {.next = fixed + FIXED_BYTES, .end = fixed + lanes};
  lane_space_t space = {(char*)fixed + lanes, (size_t)sizes[1]};
  leat_status_t status = take_head(&reader, &space, timeline);
  if (!status && reader.has_failed) status = not_an_image("the head");
  if (status) {
    leat_timeline_free(timeline);
    return status;
  }
  *out_timeline = timeline;
  return leat_ok_status();
}

// ---- Verifying ----------------------------------------------------------------------------------

size_t leat_timeline_lane_bytes(const leat_timeline_t* timeline) {
  return timeline->slice_count * LEAT_LANE_ITEM_BYTES;
}

// Whether the slices of a lane are disjoint and in the order of time, and what they cover adds up.
static bool is_in_order(const leat_timeline_t* timeline, const leat_lane_t* lane) {
  int64_t last_ns = timeline->begin_ns, covered_ns = 0;
  for (size_t i = 0; i < lane->count; ++i) {
    const leat_slice_t* slice = &lane->slices[i];
    if (slice->begin_ns < last_ns || slice->end_ns < slice->begin_ns ||
        slice->end_ns > timeline->end_ns || slice->covered_ns != covered_ns ||
        slice->name >= timeline->name_count) {
      return false;
    }
    last_ns = slice->end_ns;
    covered_ns += slice->end_ns - slice->begin_ns;
  }
  return true;
}

bool leat_timeline_verify(const leat_timeline_t* timeline) {
  const char* image = timeline->image.data;
  uint64_t sizes[2], expected;
  uint32_t crc = 0;
  LEAT_DCHECK(timeline->image.size);
  memcpy(sizes, image + 16, sizeof sizes);
  const char* lanes = image + FIXED_BYTES + sizes[0];
  memcpy(&expected, lanes + sizes[1], sizeof expected);
  if (sizes[1]) crc = leat_crc32c(lanes, (size_t)sizes[1]);
  if (crc != expected) return false;
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      if (!is_in_order(timeline, &timeline->rows[r]->lanes[l])) return false;
    }
  }
  return true;
}

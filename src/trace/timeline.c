// The slices of a timeline are appended lane by lane as their beginnings come. The slice of a lane
// that is open is always the lane's last, because a lane has a next one only when the row has come
// back to that depth; so a row needs no stack, only how many of its lanes are open. Each slice
// keeps what those before it cover, and one subtraction tells what any stretch of a lane covers.
// Windows are walked by trace/lane_window.c.
#include "trace/timeline.h"

#include "base/checked.h"
#include "base/string_builder.h"
#include "trace/lane_spill.h"

#define MAX_ROWS 65536
// Times beyond are cut, so that sums and differences of times do not overflow.
#define MAX_TIME_NS (INT64_MAX / 4)

struct leat_timeline_builder_s {
  leat_timeline_t* timeline;
  size_t row_capacity, name_capacity, node_capacity, clock_capacity,
      process_capacity;
  leat_word_map_t rows;        // indices, by uuid
  leat_word_map_t names;       // indices, by hash_name
  leat_timeline_row_t* newest_row;  // that was looked up
  leat_lane_spill_t* spill;         // NULL: all slices stay in memory
};

// ---- Making -------------------------------------------------------------------------------------

leat_status_t leat_timeline_builder_create(leat_timeline_builder_t** out_builder) {
  leat_allocator_t* a = leat_allocator_system();
  leat_timeline_builder_t* builder = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, 1, &builder));
  leat_word_map_initialize(a, &builder->rows);
  leat_word_map_initialize(a, &builder->names);
  leat_status_t status = LEAT_ALLOCATE(a, 1, &builder->timeline);
  if (status) {
    leat_timeline_builder_free(builder);
    return status;
  }
  leat_arena_initialize(a, 0, &builder->timeline->arena);
  *out_builder = builder;
  return leat_ok_status();
}

void leat_timeline_free(leat_timeline_t* timeline) {
  leat_allocator_t* a = leat_allocator_system();
  if (!timeline) return;
  for (size_t i = 0; i < timeline->row_count && !timeline->image.size; ++i) {
    for (uint32_t lane = 0; lane < timeline->rows[i]->lane_count; ++lane) {
      leat_allocator_free(a, timeline->rows[i]->lanes[lane].slices);
      leat_allocator_free(a, timeline->rows[i]->lanes[lane].values);
      leat_allocator_free(a, timeline->rows[i]->lanes[lane].steps);
    }
  }
  leat_allocator_free(a, timeline->rows);
  leat_allocator_free(a, timeline->names);
  leat_allocator_free(a, timeline->nodes);
  leat_allocator_free(a, timeline->processes);
  leat_allocator_free(a, timeline->clocks);
  leat_arena_deinitialize(&timeline->arena);
  leat_allocator_free(a, timeline);
}

void leat_timeline_builder_set_spill(leat_timeline_builder_t* builder, leat_lane_spill_t* spill) {
  LEAT_DCHECK(builder->timeline->slice_count == 0);
  builder->spill = spill;
}

void leat_timeline_builder_free(leat_timeline_builder_t* builder) {
  if (!builder) return;
  leat_timeline_free(builder->timeline);
  leat_word_map_deinitialize(&builder->rows);
  leat_word_map_deinitialize(&builder->names);
  leat_allocator_free(leat_allocator_system(), builder);
}

leat_status_t leat_timeline_builder_copy(leat_timeline_builder_t* builder, leat_string_view_t text,
                                         leat_string_view_t* out_text) {
  return leat_arena_copy_string(&builder->timeline->arena, text, out_text);
}

void leat_timeline_builder_add_damage(leat_timeline_builder_t* builder) {
  ++builder->timeline->damaged;
}

leat_status_t leat_timeline_builder_row(leat_timeline_builder_t* builder, uint64_t uuid,
                                        leat_timeline_row_t** out_row) {
  leat_timeline_t* timeline = builder->timeline;
  uint64_t index;
  if (builder->newest_row && builder->newest_row->uuid == uuid) {
    *out_row = builder->newest_row;
    return leat_ok_status();
  }
  if (!leat_word_map_get(&builder->rows, uuid, &index)) {
    leat_timeline_row_t* row;
    index = timeline->row_count;
    if (index == MAX_ROWS) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "there are more than %d rows", MAX_ROWS);
    }
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), timeline->row_count + 1,
                                   &timeline->rows, &builder->row_capacity));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(&timeline->arena, 1, &row));
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&builder->rows, uuid, index));
    row->uuid = uuid;
    timeline->rows[timeline->row_count++] = row;
  }
  *out_row = builder->newest_row = timeline->rows[index];
  return leat_ok_status();
}

static bool is_same_name(const leat_slice_name_t* a, const leat_slice_name_t* b) {
  return a->kind == b->kind && a->graph == b->graph && leat_string_view_equal(a->op, b->op) &&
         leat_string_view_equal(a->node, b->node);
}

static uint64_t hash_name(const leat_slice_name_t* name) {
  const uint64_t rest = leat_hash_mix(name->graph, name->kind);
  return leat_hash_mix(leat_hash_mix(leat_string_view_hash(name->op), rest),
                       leat_string_view_hash(name->node));
}

static leat_status_t add_name(leat_timeline_builder_t* builder, const leat_slice_name_t* name,
                              uint64_t hash) {
  leat_timeline_t* timeline = builder->timeline;
  leat_slice_name_t added = *name;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), timeline->name_count + 1,
                                 &timeline->names, &builder->name_capacity));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, name->op, &added.op));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, name->node, &added.node));
  LEAT_RETURN_IF_ERROR(leat_word_map_set(&builder->names, hash, timeline->name_count));
  timeline->names[timeline->name_count++] = added;
  return leat_ok_status();
}

// Of two names with one hash the second is found under the next one.
leat_status_t leat_timeline_builder_name(leat_timeline_builder_t* builder,
                                         const leat_slice_name_t* name, uint32_t* out_index) {
  const leat_timeline_t* timeline = builder->timeline;
  uint64_t hash = hash_name(name), index;
  while (leat_word_map_get(&builder->names, hash, &index)) {
    *out_index = (uint32_t)index;
    if (is_same_name(&timeline->names[index], name)) return leat_ok_status();
    ++hash;
  }
  *out_index = (uint32_t)timeline->name_count;
  return add_name(builder, name, hash);
}

const leat_slice_name_t* leat_timeline_builder_name_at(const leat_timeline_builder_t* builder,
                                                       uint32_t index) {
  LEAT_DCHECK(index < builder->timeline->name_count);
  return &builder->timeline->names[index];
}

// Makes room for one slice more. Unlike LEAT_GROW it leaves the new room as it is: of a large
// recording most of the time would go into zeroing it.
static leat_status_t grow(leat_timeline_builder_t* builder, leat_lane_t* lane) {
  leat_allocator_t* a = leat_allocator_system();
  leat_lane_spill_t* spill = builder->spill;
  if (lane->count < lane->capacity) return leat_ok_status();
  if (spill && leat_lane_spill_is_full(spill)) {
    LEAT_RETURN_IF_ERROR(leat_lane_spill_write(spill, builder->timeline));
    if (lane->count < lane->capacity) return leat_ok_status();
  }
  const size_t before = lane->capacity, after = before ? 2 * before : 16;
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(a, before * sizeof *lane->slices,
                                                 after * sizeof *lane->slices,
                                                 (void**)&lane->slices));
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(a, before * sizeof *lane->values,
                                                 after * sizeof *lane->values,
                                                 (void**)&lane->values));
  LEAT_RETURN_IF_ERROR(leat_allocator_reallocate(a, before * sizeof *lane->steps,
                                                 after * sizeof *lane->steps,
                                                 (void**)&lane->steps));
  lane->capacity = after;
  if (spill) spill->held_bytes += (after - before) * LEAT_LANE_ITEM_BYTES;
  return leat_ok_status();
}

static int64_t limit_time(int64_t time_ns) {
  return time_ns < 0 ? 0 : time_ns > MAX_TIME_NS ? MAX_TIME_NS : time_ns;
}

leat_status_t leat_timeline_builder_begin_named(leat_timeline_builder_t* builder,
                                                leat_timeline_row_t* row, int64_t time_ns,
                                                uint32_t name, const leat_slice_facts_t* facts) {
  leat_timeline_t* timeline = builder->timeline;
  LEAT_DCHECK(name < timeline->name_count);
  time_ns = limit_time(time_ns);
  if (time_ns < row->last_ns) {
    ++timeline->damaged;
    time_ns = row->last_ns;
  }
  if (row->open >= LEAT_TIMELINE_MAX_DEPTH) {
    ++row->open;
    ++timeline->damaged;
    return leat_ok_status();
  }
  leat_lane_t* lane = &row->lanes[row->open];
  LEAT_RETURN_IF_ERROR(grow(builder, lane));
  const leat_slice_t* before = lane->count ? &lane->slices[lane->count - 1] : NULL;
  lane->slices[lane->count] = (leat_slice_t){
      .begin_ns = time_ns,
      .end_ns = time_ns,
      .covered_ns = before ? before->covered_ns + (before->end_ns - before->begin_ns) : 0,
      .name = name,
      .by = facts->by};
  lane->values[lane->count] = facts->value;
  lane->steps[lane->count++] = facts->step;
  row->last_ns = time_ns;
  if (++row->open > row->lane_count) row->lane_count = row->open;
  if (timeline->slice_count++ == 0 || time_ns < timeline->begin_ns) timeline->begin_ns = time_ns;
  return leat_ok_status();
}

// The name is mostly that of the lane's slice before.
leat_status_t leat_timeline_builder_begin(leat_timeline_builder_t* builder,
                                          leat_timeline_row_t* row, int64_t time_ns,
                                          const leat_slice_name_t* name,
                                          const leat_slice_facts_t* facts) {
  const leat_timeline_t* timeline = builder->timeline;
  const leat_lane_t* lane = row->open < LEAT_TIMELINE_MAX_DEPTH ? &row->lanes[row->open] : NULL;
  uint32_t index;
  if (lane && lane->count &&
      is_same_name(&timeline->names[lane->slices[lane->count - 1].name], name)) {
    index = lane->slices[lane->count - 1].name;
  } else {
    LEAT_RETURN_IF_ERROR(leat_timeline_builder_name(builder, name, &index));
  }
  return leat_timeline_builder_begin_named(builder, row, time_ns, index, facts);
}

void leat_timeline_builder_end(leat_timeline_builder_t* builder, leat_timeline_row_t* row,
                               int64_t time_ns) {
  leat_timeline_t* timeline = builder->timeline;
  if (row->open == 0) {
    ++timeline->damaged;
    return;
  }
  time_ns = limit_time(time_ns);
  if (time_ns > row->last_ns) row->last_ns = time_ns;
  if (--row->open >= LEAT_TIMELINE_MAX_DEPTH) return;
  leat_lane_t* lane = &row->lanes[row->open];
  leat_slice_t* slice = &lane->slices[lane->count - 1];
  slice->end_ns = LEAT_MAX(time_ns, slice->begin_ns);
  if (slice->end_ns > timeline->end_ns) timeline->end_ns = slice->end_ns;
}

leat_status_t leat_timeline_builder_node(leat_timeline_builder_t* builder,
                                         const leat_timeline_node_t* node) {
  leat_timeline_t* timeline = builder->timeline;
  leat_timeline_node_t copy = *node;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), timeline->node_count + 1,
                                 &timeline->nodes, &builder->node_capacity));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, node->name, &copy.name));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, node->device, &copy.device));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, node->outputs, &copy.outputs));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, node->source, &copy.source));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&timeline->arena, node->producer_count + 1, &copy.producers));
  for (uint32_t i = 0; i < node->producer_count; ++i) copy.producers[i] = node->producers[i];
  timeline->nodes[timeline->node_count++] = copy;
  return leat_ok_status();
}

leat_status_t leat_timeline_builder_process(leat_timeline_builder_t* builder, int64_t number,
                                            leat_string_view_t name) {
  leat_timeline_t* timeline = builder->timeline;
  leat_timeline_process_t process = {.number = number};
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), timeline->process_count + 1,
                                 &timeline->processes, &builder->process_capacity));
  LEAT_RETURN_IF_ERROR(leat_timeline_builder_copy(builder, name, &process.name));
  timeline->processes[timeline->process_count++] = process;
  return leat_ok_status();
}

leat_status_t leat_timeline_builder_clock(leat_timeline_builder_t* builder,
                                          const leat_timeline_clock_t* clock) {
  leat_timeline_t* timeline = builder->timeline;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), timeline->clock_count + 1,
                                 &timeline->clocks, &builder->clock_capacity));
  timeline->clocks[timeline->clock_count++] = *clock;
  return leat_ok_status();
}

leat_timeline_t* leat_timeline_builder_finish(leat_timeline_builder_t* builder) {
  leat_timeline_t* timeline = builder->timeline;
  for (size_t i = 0; i < timeline->row_count; ++i) {
    leat_timeline_row_t* row = timeline->rows[i];
    timeline->damaged += row->open;
    while (row->open) leat_timeline_builder_end(builder, row, row->last_ns);
  }
  builder->timeline = NULL;
  return timeline;
}

// ---- Reading ------------------------------------------------------------------------------------

uint32_t leat_timeline_kind_of(leat_string_view_t name) {
  uint32_t kind = 0;
  while (kind < LEAT_SPAN_KINDS &&
         !leat_string_view_equals(name, leat_span_kind_name((leat_span_kind_t)kind))) {
    ++kind;
  }
  return kind;
}

leat_status_t leat_timeline_read_into(leat_file_system_t* files, const char* path,
                                      leat_timeline_builder_t* builder) {
  leat_file_t* file = NULL;
  char first = 0;
  size_t got = 0;
  leat_status_t status =
      leat_file_open(files, path, LEAT_FILE_READ, leat_allocator_system(), &file);
  if (!status) status = file->vtable->read_at(file, 0, &first, 1, &got);
  if (!status) {
    status = got && (first == '{' || first == '[') ? leat_timeline_read_chrome(file, builder)
                                                   : leat_timeline_read_perfetto(file, builder);
  }
  leat_status_free(leat_file_close(file));
  return status;
}

leat_status_t leat_timeline_read(leat_file_system_t* files, const char* path,
                                 leat_timeline_t** out_timeline) {
  leat_timeline_builder_t* builder = NULL;
  *out_timeline = NULL;
  leat_status_t status = leat_timeline_builder_create(&builder);
  if (!status) status = leat_timeline_read_into(files, path, builder);
  if (!status) *out_timeline = leat_timeline_builder_finish(builder);
  leat_timeline_builder_free(builder);
  return status;
}

// Steps, groups and entries are kept as they lie in memory, and are used where they are: of a
// hundred million slices they may take hundreds of megabytes. A link is kept with the depth and the
// number of its slice in place of the slice's address, since the lanes lie elsewhere each time. The
// rest (graph, names) is made anew: it costs as much as there are names and nodes, which are few
// beside slices.
#include "trace/delay_image.h"

#include "trace/delay_build.h"

// A leat_span_link_t.
typedef struct kept_link_s {
  int64_t number, key;
  uint64_t slice;
  uint32_t kind, row, lane, zero;
} kept_link_t;

// Fills in where the link's slice lies.
static void find_slice(const leat_timeline_row_t* row, const leat_slice_t* slice,
                       kept_link_t* link) {
  for (uint32_t l = 0; l < row->lane_count; ++l) {
    const leat_lane_t* lane = &row->lanes[l];
    if (slice < lane->slices || slice >= lane->slices + lane->count) continue;
    link->lane = l;
    link->slice = (uint64_t)(slice - lane->slices);
  }
}

static leat_status_t write_array(leat_image_write_fn_t write, void* data, size_t count,
                                 const void* items, size_t item_bytes) {
  const uint64_t word = count;
  LEAT_RETURN_IF_ERROR(write(data, &word, sizeof word));
  return write(data, items, count * item_bytes);
}

// Links are few beside entries, and are put together in memory.
static leat_status_t write_links(const leat_delays_t* delays, leat_image_write_fn_t write,
                                 void* data) {
  const leat_delay_graph_t* graph = delays->graph;
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  for (size_t i = 0; i < graph->link_count; ++i) {
    const leat_span_link_t* link = &graph->links[i];
    kept_link_t kept = {
        .number = link->number, .key = link->key, .kind = link->kind, .row = link->row};
    find_slice(delays->timeline->rows[link->row], link->slice, &kept);
    leat_image_put(&out, &kept, sizeof kept);
  }
  leat_status_t status = leat_status_clone(out.status);
  if (!status) status = write_array(write, data, graph->link_count, out.data, sizeof(kept_link_t));
  leat_string_builder_deinitialize(&out);
  return status;
}

leat_status_t leat_delays_write(const leat_delays_t* delays, leat_image_write_fn_t write,
                                void* data) {
  const uint64_t main_group = delays->main_group;
  LEAT_RETURN_IF_ERROR(write(data, &main_group, sizeof main_group));
  LEAT_RETURN_IF_ERROR(write_array(write, data, delays->step_count, delays->steps,
                                   sizeof *delays->steps));
  LEAT_RETURN_IF_ERROR(write_array(write, data, delays->group_count, delays->groups,
                                   sizeof *delays->groups));
  LEAT_RETURN_IF_ERROR(write_array(write, data, delays->entry_count, delays->entries,
                                   sizeof *delays->entries));
  return write_links(delays, write, data);
}

// ---- Taking -------------------------------------------------------------------------------------

static bool is_name(const leat_timeline_t* timeline, uint32_t name) {
  return name < timeline->name_count || name == LEAT_NO_NAME;
}

static bool is_in_range(const leat_delays_t* delays) {
  const leat_timeline_t* timeline = delays->timeline;
  size_t counted = 0;
  bool ok = delays->main_group < delays->group_count || !delays->group_count;
  for (size_t i = 0; i < delays->step_count && ok; ++i) {
    const leat_step_t* step = &delays->steps[i];
    ok = step->row < timeline->row_count && step->group < delays->group_count &&
         step->begin_ns >= timeline->begin_ns && step->end_ns >= step->begin_ns &&
         step->end_ns <= timeline->end_ns;
  }
  for (size_t i = 0; i < delays->group_count && ok; ++i) {
    const leat_step_group_t* group = &delays->groups[i];
    ok = group->count > 0 && group->count <= delays->step_count &&
         group->slowest < delays->step_count;
    counted += ok ? group->count : 0;
  }
  for (size_t i = 0; i < delays->entry_count && ok; ++i) {
    const leat_delay_entry_t* entry = &delays->entries[i];
    const leat_delay_t* delay = &entry->delay;
    ok = entry->group < delays->group_count && entry->step < delays->step_count &&
         delay->cause < LEAT_DELAY_CAUSES && is_name(timeline, delay->name) &&
         is_name(timeline, delay->other) && delay->row < timeline->row_count &&
         delay->begin_ns >= timeline->begin_ns && delay->end_ns >= delay->begin_ns &&
         delay->end_ns <= timeline->end_ns && delay->total_ns >= 0 &&
         delay->total_ns <= timeline->end_ns && delay->median_ns >= 0 &&
         delay->median_ns <= timeline->end_ns;
  }
  return ok && counted == delays->step_count;
}

static void take_arrays(leat_image_reader_t* reader, leat_delays_t* delays) {
  delays->is_borrowed = true;
  delays->main_group = (size_t)leat_image_take_word(reader);
  delays->step_count = leat_image_take_count(reader, sizeof *delays->steps);
  delays->steps = leat_image_take_in_place(reader, delays->step_count, sizeof *delays->steps);
  delays->group_count = leat_image_take_count(reader, sizeof *delays->groups);
  delays->groups = leat_image_take_in_place(reader, delays->group_count, sizeof *delays->groups);
  delays->entry_count = leat_image_take_count(reader, sizeof *delays->entries);
  delays->entries =
      leat_image_take_in_place(reader, delays->entry_count, sizeof *delays->entries);
}

void leat_delays_borrow(leat_delays_t* delays, const void* bytes, size_t size) {
  leat_image_reader_t reader = {.next = bytes, .end = (const char*)bytes + size};
  leat_delays_t taken = {0};
  take_arrays(&reader, &taken);
  LEAT_DCHECK(!reader.has_failed && taken.entry_count == delays->entry_count);
  leat_allocator_free(leat_allocator_system(), delays->steps);
  leat_allocator_free(leat_allocator_system(), delays->groups);
  leat_allocator_free(leat_allocator_system(), delays->entries);
  delays->is_borrowed = true;
  delays->steps = taken.steps;
  delays->groups = taken.groups;
  delays->entries = taken.entries;
}

static leat_status_t take_links(leat_image_reader_t* reader, leat_delays_t* delays,
                                leat_delay_graph_t* graph) {
  const leat_timeline_t* timeline = delays->timeline;
  const size_t count = leat_image_take_count(reader, sizeof(kept_link_t));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&delays->arena, count + 1, &graph->links));
  for (size_t i = 0; i < count && !reader->has_failed; ++i) {
    kept_link_t kept;
    leat_image_take_into(reader, &kept, sizeof kept);
    if (kept.row >= timeline->row_count || kept.lane >= timeline->rows[kept.row]->lane_count ||
        kept.slice >= timeline->rows[kept.row]->lanes[kept.lane].count) {
      reader->has_failed = true;
      break;
    }
    graph->links[graph->link_count++] =
        (leat_span_link_t){kept.number, kept.key, kept.kind, kept.row,
                           &timeline->rows[kept.row]->lanes[kept.lane].slices[kept.slice]};
  }
  return leat_ok_status();
}

leat_status_t leat_delays_take(leat_image_reader_t* reader, const leat_timeline_t* timeline,
                               leat_delays_t** out_delays) {
  leat_delays_t* delays;
  leat_delay_graph_t* graph;
  *out_delays = NULL;
  LEAT_RETURN_IF_ERROR(leat_delays_create(timeline, &delays, &graph));
  take_arrays(reader, delays);
  if (!reader->has_failed) reader->has_failed = !is_in_range(delays);
  leat_status_t status = take_links(reader, delays, graph);
  if (status || reader->has_failed) {
    leat_delays_free(delays);
    return status;
  }
  *out_delays = delays;
  return leat_ok_status();
}

// Finds the steps of a timeline and walks the path of each. What is kept of a path are sums: for
// each cause and kernel of a step one entry, so that a recording of millions of kernels needs no
// more than its own size. Entries are sorted by group, cause and kernel; those of one kernel in all
// steps of a group lie together, and their median, in which steps without an entry count as 0, is
// what a step is compared with.
//
// The paths of steps have nothing to do with each other, so that several threads walk them: each
// takes the next few steps, and keeps and sorts entries of its own, which are merged at the end. No
// two entries are equal, so the result does not depend on who walked what.
#include "trace/delay.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/cpu.h"
#include "base/thread.h"
#include "trace/delay_build.h"
#include "trace/delay_path.h"

#define MAX_WALKERS 4
#define STEPS_AT_ONCE 16

typedef struct finder_s {
  leat_delays_t* delays;
  size_t step_capacity, group_capacity;
} finder_t;

// One of the threads that walk steps.
typedef struct walker_s {
  const leat_delays_t* delays;
  _Atomic size_t* next_step;  // of all walkers
  const _Atomic bool* is_cancelled;
  leat_delay_entry_t* entries;
  size_t entry_count, entry_capacity;
  leat_instances_t instances;  // of the step that is walked
  leat_path_piece_t* pieces;   // likewise
  size_t piece_count, piece_capacity;
  leat_status_t status;
  leat_thread_t thread;
} walker_t;

// ---- Steps --------------------------------------------------------------------------------------

// A kernel and the pieces of its loop have names of their own in a timeline: of each op and node
// the first is taken.
static leat_status_t join_names(leat_delays_t* delays) {
  const leat_timeline_t* timeline = delays->timeline;
  leat_arena_t* arena = &delays->arena;
  uint32_t* names;
  leat_string_map_t known;
  leat_string_map_initialize(leat_allocator_system(), &known);
  leat_status_t status = LEAT_NEW(arena, timeline->name_count + 1, &names);
  if (!status) delays->names = names;
  for (size_t i = 0; i < timeline->name_count && !status; ++i) {
    leat_string_view_t key;
    uint64_t* first;
    status = leat_arena_print(arena, &key, "%.*s\n%.*s", LEAT_SV_ARG(timeline->names[i].node),
                              LEAT_SV_ARG(timeline->names[i].op));
    if (!status) status = leat_string_map_insert(&known, key, i, &first, NULL);
    if (!status) names[i] = (uint32_t)*first;
  }
  leat_string_map_deinitialize(&known);
  return status;
}

// The first and the last kernel of a step by number, which do not depend on the order in which they
// ran. Where these are of graphs, which only one process runs, steps are alike on whatever thread:
// a server runs those of a client on many. Else they must be of one thread, |row|.
typedef struct signature_s {
  uint32_t row, least, most;
} signature_t;

static signature_t signature_of(const leat_timeline_t* timeline, const leat_step_t* step) {
  const leat_timeline_row_t* row = timeline->rows[step->row];
  signature_t signature = {step->row, UINT32_MAX, 0};
  for (uint32_t i = 0; i < row->lane_count; ++i) {
    const leat_lane_t* lane = &row->lanes[i];
    for (size_t at = leat_lane_find(lane, step->begin_ns);
         at < lane->count && lane->slices[at].begin_ns < step->end_ns; ++at) {
      const uint32_t name = lane->slices[at].name;
      if (timeline->names[name].kind != LEAT_SPAN_KERNEL) continue;
      signature.least = LEAT_MIN(signature.least, name);
      signature.most = LEAT_MAX(signature.most, name);
    }
  }
  if (signature.least != UINT32_MAX && timeline->names[signature.least].graph) {
    signature.row = UINT32_MAX;
  }
  return signature;
}

static leat_status_t find_group(finder_t* finder, leat_string_map_t* known, leat_step_t* step) {
  leat_delays_t* delays = finder->delays;
  const signature_t signature = signature_of(delays->timeline, step);
  leat_string_view_t key;
  uint64_t* group;
  bool is_new;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(
      &delays->arena, leat_string_view_make((const char*)&signature, sizeof signature), &key));
  LEAT_RETURN_IF_ERROR(
      leat_string_map_insert(known, key, delays->group_count, &group, &is_new));
  step->group = (uint32_t)*group;
  if (!is_new) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), delays->group_count + 1,
                                 &delays->groups, &finder->group_capacity));
  ++delays->group_count;
  return leat_ok_status();
}

// A step that runs within another one, as functions do, is a part of that.
static leat_status_t find_steps_of_row(finder_t* finder, uint32_t index) {
  leat_delays_t* delays = finder->delays;
  const leat_timeline_row_t* row = delays->timeline->rows[index];
  const size_t first = delays->step_count;
  for (uint32_t i = 0; i < row->lane_count; ++i) {
    const leat_lane_t* lane = &row->lanes[i];
    size_t outer = first;
    const size_t outer_end = delays->step_count;
    for (size_t at = 0; at < lane->count; ++at) {
      const leat_slice_t* slice = &lane->slices[at];
      if (delays->timeline->names[slice->name].kind != LEAT_SPAN_STEP) continue;
      while (outer < outer_end && delays->steps[outer].end_ns <= slice->begin_ns) ++outer;
      if (outer < outer_end && delays->steps[outer].begin_ns <= slice->begin_ns) continue;
      LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), delays->step_count + 1,
                                     &delays->steps, &finder->step_capacity));
      delays->steps[delays->step_count++] = (leat_step_t){.number = lane->values[at],
                                                          .mark = lane->steps[at],
                                                          .begin_ns = slice->begin_ns,
                                                          .end_ns = slice->end_ns,
                                                          .row = index};
    }
  }
  return leat_ok_status();
}

static int compare_steps(const void* a, const void* b) {
  const leat_step_t *x = a, *y = b;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  return x->row < y->row ? -1 : x->row > y->row;
}

static leat_status_t find_steps(finder_t* finder) {
  leat_delays_t* delays = finder->delays;
  leat_string_map_t known;
  leat_status_t status = leat_ok_status();
  for (uint32_t i = 0; i < delays->timeline->row_count && !status; ++i) {
    status = find_steps_of_row(finder, i);
  }
  if (status) return status;
  if (delays->step_count) {
    qsort(delays->steps, delays->step_count, sizeof *delays->steps, compare_steps);
  }
  leat_string_map_initialize(leat_allocator_system(), &known);
  for (size_t i = 0; i < delays->step_count && !status; ++i) {
    status = find_group(finder, &known, &delays->steps[i]);
  }
  leat_string_map_deinitialize(&known);
  return status;
}

static int64_t length_of(const leat_step_t* step) { return step->end_ns - step->begin_ns; }

static int compare_times(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return x < y ? -1 : x > y;
}

// Counts, medians, and the slowest step of each group.
static leat_status_t measure_groups(finder_t* finder) {
  leat_delays_t* delays = finder->delays;
  int64_t* times;  // group by group
  size_t* ends;    // of the groups' times
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&delays->arena, delays->step_count + 1, &times));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&delays->arena, delays->group_count + 1, &ends));
  for (size_t i = 0; i < delays->step_count; ++i) {
    leat_step_group_t* group = &delays->groups[delays->steps[i].group];
    const int64_t length = length_of(&delays->steps[i]);
    if (!group->count || length > length_of(&delays->steps[group->slowest])) group->slowest = i;
    group->total_ns += length;
    ++group->count;
  }
  for (size_t g = 1; g < delays->group_count; ++g) {
    ends[g] = ends[g - 1] + delays->groups[g - 1].count;
  }
  for (size_t i = 0; i < delays->step_count; ++i) {
    times[ends[delays->steps[i].group]++] = length_of(&delays->steps[i]);
  }
  for (size_t g = 0; g < delays->group_count; ++g) {
    leat_step_group_t* group = &delays->groups[g];
    int64_t* first = times + (ends[g] - group->count);
    qsort(first, group->count, sizeof *first, compare_times);
    group->median_ns = first[group->count / 2];
  }
  return leat_ok_status();
}

// ---- Entries ------------------------------------------------------------------------------------

static int compare_pieces(const void* a, const void* b) {
  const leat_path_piece_t *x = a, *y = b;
  if (x->cause != y->cause) return x->cause < y->cause ? -1 : 1;
  if (x->name != y->name) return x->name < y->name ? -1 : 1;
  return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

// Sums up the pieces of a step by cause and kernel.
static leat_status_t add_entries(walker_t* walker, uint32_t step) {
  const leat_delays_t* delays = walker->delays;
  walker->piece_count = 0;
  LEAT_RETURN_IF_ERROR(leat_delay_path_find(&walker->instances, delays->names,
                                            &delays->steps[step], &walker->pieces,
                                            &walker->piece_count, &walker->piece_capacity));
  const leat_path_piece_t* pieces = walker->pieces;
  if (walker->piece_count) {
    qsort(walker->pieces, walker->piece_count, sizeof *pieces, compare_pieces);
  }
  for (size_t i = 0; i < walker->piece_count;) {
    const leat_path_piece_t* longest = &pieces[i];
    int64_t total_ns = 0;
    bool has_others = false;
    size_t end = i;
    for (; end < walker->piece_count && pieces[end].cause == pieces[i].cause &&
           pieces[end].name == pieces[i].name; ++end) {
      const int64_t length = pieces[end].end_ns - pieces[end].begin_ns;
      total_ns += length;
      if (length > longest->end_ns - longest->begin_ns) longest = &pieces[end];
      has_others |= pieces[end].by != pieces[i].by;
    }
    LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), walker->entry_count + 1,
                                   &walker->entries, &walker->entry_capacity));
    walker->entries[walker->entry_count++] = (leat_delay_entry_t){
        delays->steps[step].group, step,
        {.cause = longest->cause, .name = longest->name, .other = longest->other,
         .by = longest->by, .row = longest->row, .begin_ns = longest->begin_ns,
         .end_ns = longest->end_ns, .total_ns = total_ns, .gain_ns = longest->most_ns,
         .has_others = has_others}};
    i = end;
  }
  return leat_ok_status();
}

// By group, cause and kernel, the shortest first.
static int compare_entries(const void* a, const void* b) {
  const leat_delay_entry_t *x = a, *y = b;
  if (x->group != y->group) return x->group < y->group ? -1 : 1;
  if (x->delay.cause != y->delay.cause) return x->delay.cause < y->delay.cause ? -1 : 1;
  if (x->delay.name != y->delay.name) return x->delay.name < y->delay.name ? -1 : 1;
  if (x->delay.total_ns != y->delay.total_ns) {
    return x->delay.total_ns < y->delay.total_ns ? -1 : 1;
  }
  return x->step < y->step ? -1 : x->step > y->step;
}

static leat_status_t check_cancelled(const _Atomic bool* is_cancelled) {
  if (!is_cancelled || !atomic_load_explicit(is_cancelled, memory_order_relaxed)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_CANCELLED, "Finding the delays was cancelled");
}

static void run_walker(void* data) {
  walker_t* walker = data;
  const size_t step_count = walker->delays->step_count;
  size_t step = 0, end = 0;
  walker->status = leat_instances_initialize(walker->delays->graph, &walker->instances);
  for (; !walker->status; ++step) {
    if (step == end) {
      step = atomic_fetch_add_explicit(walker->next_step, STEPS_AT_ONCE, memory_order_relaxed);
      end = step + STEPS_AT_ONCE;
      walker->status = check_cancelled(walker->is_cancelled);
    }
    if (step >= step_count || walker->status) break;
    walker->status = add_entries(walker, (uint32_t)step);
  }
  if (walker->entry_count) {
    qsort(walker->entries, walker->entry_count, sizeof *walker->entries, compare_entries);
  }
}

// Merges the entries of all walkers, which are sorted.
static leat_status_t merge_entries(walker_t* walkers, size_t count, leat_delays_t* delays) {
  size_t next[MAX_WALKERS] = {0}, total = 0;
  for (size_t i = 0; i < count; ++i) total += walkers[i].entry_count;
  if (count == 1) {
    delays->entries = walkers[0].entries;
    walkers[0].entries = NULL;
    delays->entry_count = total;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      leat_allocator_system(), 16, (total + 1) * sizeof *delays->entries,
      (void**)&delays->entries));
  while (delays->entry_count < total) {
    const leat_delay_entry_t* least = NULL;
    size_t from = 0;
    for (size_t i = 0; i < count; ++i) {
      if (next[i] == walkers[i].entry_count) continue;
      const leat_delay_entry_t* entry = &walkers[i].entries[next[i]];
      if (least && compare_entries(least, entry) < 0) continue;
      least = entry;
      from = i;
    }
    delays->entries[delays->entry_count++] = *least;
    ++next[from];
  }
  return leat_ok_status();
}

// Walks all steps, on this thread and on others where there are many.
static leat_status_t walk_steps(leat_delays_t* delays, const _Atomic bool* is_cancelled) {
  walker_t walkers[MAX_WALKERS];
  _Atomic size_t next_step = 0;
  const size_t parts = delays->step_count / STEPS_AT_ONCE + 1;
  const size_t most = LEAT_MIN((size_t)LEAT_MAX(leat_cpu_count(), 1), MAX_WALKERS);
  const size_t wanted = LEAT_MIN(parts, most);
  size_t count = 0;
  for (; count < wanted; ++count) {
    walkers[count] = (walker_t){
        .delays = delays, .next_step = &next_step, .is_cancelled = is_cancelled};
    if (count == 0) continue;
    leat_status_t status = leat_thread_start("leat-delays", run_walker, &walkers[count],
                                             &walkers[count].thread);
    leat_status_free(status);
    if (status) break;
  }
  run_walker(&walkers[0]);
  leat_status_t status = walkers[0].status;
  for (size_t i = 1; i < count; ++i) {
    leat_thread_join(walkers[i].thread);
    status = leat_status_join(status, walkers[i].status);
  }
  if (!status) status = merge_entries(walkers, count, delays);
  for (size_t i = 0; i < count; ++i) {
    leat_allocator_free(leat_allocator_system(), walkers[i].entries);
    leat_allocator_free(leat_allocator_system(), walkers[i].pieces);
    leat_instances_deinitialize(&walkers[i].instances);
  }
  return status;
}

static bool is_alike(const leat_delay_entry_t* a, const leat_delay_entry_t* b) {
  return a->group == b->group && a->delay.cause == b->delay.cause &&
         a->delay.name == b->delay.name;
}

// The end of the entries that are alike from |first| on.
static size_t end_of_alike(const leat_delays_t* delays, size_t first) {
  size_t end = first + 1;
  while (end < delays->entry_count && is_alike(&delays->entries[first], &delays->entries[end])) {
    ++end;
  }
  return end;
}

static void set_medians(leat_delays_t* delays) {
  for (size_t first = 0; first < delays->entry_count;) {
    const size_t end = end_of_alike(delays, first);
    const size_t steps = delays->groups[delays->entries[first].group].count;
    const size_t without = steps - (end - first);  // these come before all others, with 0
    const int64_t median_ns =
        steps / 2 < without ? 0 : delays->entries[first + steps / 2 - without].delay.total_ns;
    for (; first < end; ++first) delays->entries[first].delay.median_ns = median_ns;
  }
}

// Whether |delay| is a wait of a kernel that gives nothing: of one that fills a queue, and waits
// until there is room. Where the recording does not tell what its nodes give, none is.
static bool is_ahead(const leat_delays_t* delays, const leat_delay_t* delay) {
  const bool waits = delay->cause == LEAT_DELAY_INPUT || delay->cause == LEAT_DELAY_INPUT_WORK;
  if (!waits || delay->name == LEAT_NO_NAME) return false;
  const uint32_t node = delays->graph->node_of_name[delay->name];
  if (node == LEAT_NO_NODE) return false;
  const leat_timeline_node_t* n = &delays->timeline->nodes[node];
  return n->device.size && !n->outputs.size;
}

// The main group is the one whose steps took the most time, that apart in which they were ahead of
// those who take what they make.
static leat_status_t choose_main_group(leat_delays_t* delays) {
  int64_t* times;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&delays->arena, delays->group_count + 1, &times));
  for (size_t g = 0; g < delays->group_count; ++g) times[g] = delays->groups[g].total_ns;
  for (size_t i = 0; i < delays->entry_count; ++i) {
    const leat_delay_entry_t* entry = &delays->entries[i];
    if (is_ahead(delays, &entry->delay)) times[entry->group] -= entry->delay.total_ns;
  }
  for (size_t g = 1; g < delays->group_count; ++g) {
    if (times[g] > times[delays->main_group]) delays->main_group = g;
  }
  return leat_ok_status();
}

leat_status_t leat_delays_create(const leat_timeline_t* timeline, leat_delays_t** out_delays,
                                 leat_delay_graph_t** out_graph) {
  leat_delays_t* delays;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &delays));
  delays->timeline = timeline;
  leat_arena_initialize(leat_allocator_system(), 0, &delays->arena);
  leat_status_t status = LEAT_NEW(&delays->arena, 1, out_graph);
  if (!status) status = leat_delay_graph_index(timeline, &delays->arena, *out_graph);
  if (!status) delays->graph = *out_graph;
  if (!status) status = join_names(delays);
  if (status) {
    leat_delays_free(delays);
    return status;
  }
  *out_delays = delays;
  return leat_ok_status();
}

leat_status_t leat_delays_find(const leat_timeline_t* timeline, leat_delays_t** out_delays) {
  return leat_delays_find_cancellable(timeline, NULL, out_delays);
}

leat_status_t leat_delays_find_cancellable(const leat_timeline_t* timeline,
                                           const _Atomic bool* is_cancelled,
                                           leat_delays_t** out_delays) {
  finder_t finder = {0};
  leat_delay_graph_t* graph;
  *out_delays = NULL;
  LEAT_RETURN_IF_ERROR(leat_delays_create(timeline, &finder.delays, &graph));
  leat_delays_t* delays = finder.delays;
  leat_status_t status = leat_delay_graph_find_links(graph, &delays->arena);
  if (!status) status = find_steps(&finder);
  if (!status) status = measure_groups(&finder);
  if (!status) status = walk_steps(delays, is_cancelled);
  if (!status) status = choose_main_group(delays);
  if (status) {
    leat_delays_free(delays);
    return status;
  }
  set_medians(delays);
  *out_delays = delays;
  return leat_ok_status();
}

void leat_delays_free(leat_delays_t* delays) {
  if (!delays) return;
  if (!delays->is_borrowed) {
    leat_allocator_free(leat_allocator_system(), delays->steps);
    leat_allocator_free(leat_allocator_system(), delays->groups);
    leat_allocator_free(leat_allocator_system(), delays->entries);
  }
  leat_arena_deinitialize(&delays->arena);
  leat_allocator_free(leat_allocator_system(), delays);
}

// ---- Asking -------------------------------------------------------------------------------------

leat_status_t leat_delays_path(const leat_delays_t* delays, size_t step, leat_arena_t* arena,
                               leat_path_piece_t** out_pieces, size_t* out_count) {
  leat_path_piece_t* pieces = NULL;
  leat_instances_t instances;
  size_t capacity = 0;
  *out_count = 0;
  leat_status_t status = leat_instances_initialize(delays->graph, &instances);
  if (!status) {
    status = leat_delay_path_find(&instances, delays->names, &delays->steps[step], &pieces,
                                  out_count, &capacity);
  }
  if (!status) status = LEAT_NEW(arena, *out_count + 1, out_pieces);
  for (size_t i = 0; i < *out_count && !status; ++i) {
    (*out_pieces)[i] = pieces[*out_count - 1 - i];
  }
  leat_allocator_free(leat_allocator_system(), pieces);
  leat_instances_deinitialize(&instances);
  return status;
}

static int compare_gains(const void* a, const void* b) {
  const leat_delay_t *x = a, *y = b;
  if (x->gain_ns != y->gain_ns) return x->gain_ns > y->gain_ns ? -1 : 1;
  if (x->cause != y->cause) return x->cause < y->cause ? -1 : 1;
  return x->name < y->name ? -1 : x->name > y->name;
}

// Drops those that gain nothing and puts the others into order.
static void rank(leat_delay_t* list, size_t* inout_count) {
  size_t kept = 0;
  for (size_t i = 0; i < *inout_count; ++i) {
    if (list[i].gain_ns > 0) list[kept++] = list[i];
  }
  if (kept) qsort(list, kept, sizeof *list, compare_gains);
  *inout_count = kept;
}

leat_status_t leat_delays_of_step(const leat_delays_t* delays, size_t step, leat_arena_t* arena,
                                  leat_delay_t** out_list, size_t* out_count) {
  LEAT_DCHECK(step < delays->step_count);
  size_t count = 0;
  for (size_t i = 0; i < delays->entry_count; ++i) count += delays->entries[i].step == step;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, out_list));
  *out_count = 0;
  for (size_t i = 0; i < delays->entry_count; ++i) {
    if (delays->entries[i].step != step) continue;
    leat_delay_t* delay = &(*out_list)[(*out_count)++];
    *delay = delays->entries[i].delay;
    // Who keeps a thread from others delays them all by what it took longer, whatever they gain
    // from a thread of their own.
    const int64_t more_ns = delay->total_ns - delay->median_ns;
    delay->gain_ns =
        delay->cause == LEAT_DELAY_TURN ? more_ns : LEAT_MIN(delay->gain_ns, more_ns);
  }
  rank(*out_list, out_count);
  return leat_ok_status();
}

leat_status_t leat_delays_of_group(const leat_delays_t* delays, size_t group, leat_arena_t* arena,
                                   leat_delay_t** out_list, size_t* out_count) {
  LEAT_DCHECK(group < delays->group_count);
  const int64_t steps = (int64_t)delays->groups[group].count;
  size_t count = 0, end;
  for (size_t i = 0; i < delays->entry_count; i = end_of_alike(delays, i)) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, out_list));
  *out_count = 0;
  for (size_t first = 0; first < delays->entry_count; first = end) {
    end = end_of_alike(delays, first);
    const leat_delay_entry_t* entry = &delays->entries[end - 1];  // the longest
    if (entry->group != group || !leat_cause_is_delay(entry->delay.cause)) continue;
    leat_delay_t* delay = &(*out_list)[(*out_count)++];
    *delay = entry->delay;
    delay->total_ns = delay->gain_ns = 0;
    for (size_t i = first; i < end; ++i) {
      const leat_delay_t* one = &delays->entries[i].delay;
      delay->total_ns += one->total_ns;
      delay->has_others |= one->has_others || one->by != delay->by;
      delay->gain_ns += LEAT_MIN(one->gain_ns, one->total_ns);
    }
    delay->total_ns /= steps;
    delay->gain_ns /= steps;
  }
  rank(*out_list, out_count);
  return leat_ok_status();
}

// Walks a step backwards from its end. The walk is always at a moment of a row, and asks what the
// thread did just before it:
//
//   it computed, took memory, waited for a lock,     a piece with that cause; the walk goes on at
//   or was off its core                              the piece's beginning, on the same row
//   it waited for another thread                     the walk goes to the row where a task, a piece
//                                                    of a loop or an asynchronous kernel ended last
//   it slept without a wait of the runtime's, and    what that thread did meanwhile is walked, and
//   the recording says which thread woke it          the walk goes on where the sleep began
//   it began a task                                  the walk goes to when the task was queued, and
//                                                    to the thread that queued it
//
// Where the recording has the edges of the graph, a kernel leads to the last of those that it takes
// values from or waits for, on whichever row, and not to what its thread did before. Between the
// two it was ready: what its row did meanwhile was in its way, and is told so. A Recv leads through
// the phases of its message to the Send, perhaps in another process, and work on a stream to its
// launch.
//
// An asynchronous kernel (a dequeue) was ended by a thread, often one of another step, which put
// something into the queue. What that thread did while the kernel waited is walked in the same way,
// down to the beginning of the kernel; there the walk goes back to the thread that began it.
//
// Where a wait was for several, the last to end leads on, and the one before it says how much the
// step can gain at most on this way: with more, the other becomes the one that is waited for. With
// edges such a limit holds down to the moment where the ways to both part.
#include "trace/delay_path.h"

#include "base/checked.h"
#include "trace/delay_rows.h"

#define MAX_NESTING 16       // of asynchronous kernels that were waited for
#define MAX_VAIN_SWITCHES 4  // of rows, in which the walk gets no further
#define MAX_LIMITS 32

// Without what lies behind |until_ns| the step gains at most |most_ns|. Where both ways share a
// thread, a delay on it before the other one's last kernel holds up both, and only another thread
// would part them: |parting_ns| is where the ways part for such a gain.
typedef struct limit_s {
  int64_t most_ns, until_ns, parting_ns;
} limit_t;

typedef struct path_s {
  leat_delay_rows_t rows;
  const leat_delay_graph_t* graph;
  const leat_instances_t* instances;
  limit_t limits[MAX_LIMITS];
  int limit_count;
  bool has_end;  // the kernel that ends the step was found
  leat_path_piece_t* pieces;
  size_t count, capacity;
} path_t;

// What the walk is in: between |floor_ns| and the moment it is at.
typedef struct scope_s {
  int64_t floor_ns;
  uint32_t home;  // the row of the caller
  const leat_slice_t* input;  // the asynchronous kernel that waits meanwhile; NULL: none
  const leat_slice_t* recv;   // the Recv that waits for a sender on the row; NULL: none
  const leat_slice_t* send;   // the kernel of the sender
  const leat_row_state_t* sleeper;  // what a thread was in that |home| woke; NULL: none
  int64_t most_ns;
  int nesting;
} scope_t;

static uint32_t name_of(const path_t* path, const leat_slice_t* slice) {
  return slice ? path->rows.names[slice->name] : LEAT_NO_NAME;
}

static leat_status_t add_piece(path_t* path, const leat_path_piece_t* piece) {
  if (piece->begin_ns >= piece->end_ns) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), path->count + 1, &path->pieces,
                                 &path->capacity));
  leat_path_piece_t* added = &path->pieces[path->count++];
  *added = *piece;
  // A pool without a free thread holds up all who queue alike.
  for (int i = 0; i < path->limit_count && piece->cause != LEAT_DELAY_QUEUED; ++i) {
    const limit_t* limit = &path->limits[i];
    const bool is_turn = piece->cause == LEAT_DELAY_TURN;
    if ((is_turn ? limit->parting_ns : limit->until_ns) >= piece->end_ns) continue;
    added->most_ns = LEAT_MIN(added->most_ns, limit->most_ns);
  }
  return leat_ok_status();
}

static void add_limit(path_t* path, limit_t limit) {
  if (path->limit_count == MAX_LIMITS) {
    // The one that holds least long makes room.
    int shortest = 0;
    for (int i = 1; i < MAX_LIMITS; ++i) {
      if (path->limits[i].until_ns > path->limits[shortest].until_ns) shortest = i;
    }
    path->limits[shortest] = path->limits[--path->limit_count];
  }
  path->limits[path->limit_count++] = limit;
}

// ---- The walk -----------------------------------------------------------------------------------

static uint32_t cause_of(const path_t* path, const leat_row_state_t* state,
                         const scope_t* scope) {
  if (state->blocked) {
    switch (state->blocked_kind) {
      case LEAT_SPAN_LOCK: return LEAT_DELAY_LOCK;
      case LEAT_SPAN_MEMORY: return LEAT_DELAY_MEMORY;
      case LEAT_SPAN_FILE: return LEAT_DELAY_SYSTEM;
      case LEAT_SPAN_STREAM_WAIT: return LEAT_DELAY_STREAM;
      case LEAT_SPAN_OFF_CORE:
        if (state->blocked_value == LEAT_OFF_CORE_PREEMPTED) return LEAT_DELAY_PREEMPTED;
        if (state->blocked_value == LEAT_OFF_CORE_READY) return LEAT_DELAY_WAKE;
        if (state->kernel) return LEAT_DELAY_SYSTEM;
        break;
      default: break;
    }
    return scope->input ? LEAT_DELAY_INPUT : LEAT_DELAY_WAIT;
  }
  if (!leat_rows_is_working(state)) {
    return scope->input ? LEAT_DELAY_INPUT : scope->recv ? LEAT_DELAY_SENDER : LEAT_DELAY_WAIT;
  }
  if (state->kernel && leat_rows_kind(&path->rows, state->kernel) == LEAT_SPAN_COPY) {
    return LEAT_DELAY_COPY;
  }
  if (scope->input) return LEAT_DELAY_INPUT_WORK;
  return state->kernel ? LEAT_DELAY_COMPUTE : LEAT_DELAY_RUNTIME;
}

// Tells who is to blame for what blocked a row: the slice of a time off a core has the name of the
// thread that took the core or woke it.
static void blame(const path_t* path, const leat_row_state_t* state, leat_path_piece_t* piece) {
  if (!state->blocked) return;
  piece->by = state->blocked->by;
  if (state->blocked_kind == LEAT_SPAN_OFF_CORE &&
      path->rows.timeline->names[state->blocked->name].node.size) {
    piece->other = name_of(path, state->blocked);
  }
}

// Adds the piece from |begin_ns| to |end_ns| of a row that was in |state|.
static leat_status_t add_state(path_t* path, const scope_t* scope, uint32_t row,
                               const leat_row_state_t* state, int64_t begin_ns, int64_t end_ns) {
  leat_path_piece_t piece = {.begin_ns = begin_ns, .end_ns = end_ns, .most_ns = scope->most_ns,
                             .row = row, .cause = cause_of(path, state, scope),
                             .name = name_of(path, state->kernel), .other = LEAT_NO_NAME};
  blame(path, state, &piece);
  if (piece.cause == LEAT_DELAY_WAIT && scope->sleeper) {
    // The recording does not show what the thread did that woke the other one.
    piece.cause = cause_of(path, scope->sleeper, scope);
    piece.name = name_of(path, scope->sleeper->kernel);
    blame(path, scope->sleeper, &piece);
  } else if (piece.cause == LEAT_DELAY_INPUT || piece.cause == LEAT_DELAY_INPUT_WORK) {
    piece.other = piece.name;
    piece.name = name_of(path, scope->input);
    piece.by = (uint32_t)path->rows.timeline->rows[row]->thread;
  } else if (piece.cause == LEAT_DELAY_SENDER) {
    piece.name = name_of(path, scope->recv);
    piece.other = name_of(path, scope->send);
  }
  return add_piece(path, &piece);
}

// Adds a piece of |cause| that a kernel waited.
static leat_status_t add_wait(path_t* path, const scope_t* scope, uint32_t row, uint32_t cause,
                              const leat_slice_t* kernel, int64_t begin_ns, int64_t end_ns) {
  const leat_path_piece_t piece = {.begin_ns = begin_ns, .end_ns = end_ns,
                                   .most_ns = scope->most_ns, .row = row, .cause = cause,
                                   .name = name_of(path, kernel), .other = LEAT_NO_NAME};
  return add_piece(path, &piece);
}

static leat_status_t walk(path_t* path, const scope_t* scope, uint32_t row, int64_t end_ns);

// The phases of a message, from the last: each ends where the one behind it begins, and what is not
// recorded has no length. Moves |*inout_ns| back to |floor_ns| or the Send, if that came later, and
// says where that was. The row of the Recv is |row|, and that of the Send |*out_send|; NULL: the
// value was there before it was asked for, or nobody knows.
static leat_status_t walk_message(path_t* path, const scope_t* scope, const leat_slice_t* recv,
                                  uint32_t row, int64_t number, int64_t* inout_ns,
                                  const leat_span_link_t** out_send) {
  const leat_delay_graph_t* g = path->graph;
  const leat_span_link_t* decode = leat_delay_graph_link(g, LEAT_SPAN_DECODE, number, recv->end_ns);
  const leat_span_link_t* encode = leat_delay_graph_link(g, LEAT_SPAN_ENCODE, number, recv->end_ns);
  const leat_span_link_t* send = leat_delay_graph_link(g, LEAT_SPAN_SEND, number, recv->end_ns);
  const int64_t floor_ns = LEAT_MAX(recv->begin_ns, scope->floor_ns);
  const int64_t sent_ns = send ? send->slice->begin_ns : 0;
  int64_t ends[6], end_ns = *inout_ns;
  // Beginnings of the phases: delivered, read, under way, written, waiting for the request or the
  // thread.
  ends[0] = decode ? decode->slice->end_ns : sent_ns;
  ends[1] = decode ? decode->slice->begin_ns : sent_ns;
  ends[2] = encode ? encode->slice->end_ns : ends[1];
  ends[3] = encode ? encode->slice->begin_ns : ends[2];
  ends[4] = sent_ns;
  static const uint32_t kCauses[] = {LEAT_DELAY_POSTED, LEAT_DELAY_CODING, LEAT_DELAY_FLIGHT,
                                     LEAT_DELAY_CODING, LEAT_DELAY_POSTED};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCauses); ++i) {
    const int64_t begin_ns = LEAT_MIN(LEAT_MAX(ends[i], floor_ns), end_ns);
    LEAT_RETURN_IF_ERROR(add_wait(path, scope, row, kCauses[i], recv, begin_ns, end_ns));
    end_ns = begin_ns;
  }
  *out_send = sent_ns > floor_ns ? send : NULL;
  if (!*out_send) {
    // Up to its request the sender had no part in it.
    LEAT_RETURN_IF_ERROR(
        add_wait(path, scope, row, LEAT_DELAY_FLIGHT, recv, floor_ns, end_ns));
    end_ns = floor_ns;
  }
  *inout_ns = end_ns;
  return leat_ok_status();
}

// The slice of the kernel on |row| in which |time_ns| lies; NULL: in none.
static const leat_slice_t* kernel_at(const path_t* path, uint32_t row, int64_t time_ns) {
  return leat_rows_look(&path->rows, row, time_ns).kernel;
}

// An asynchronous kernel of |*inout_row| ended at |*inout_ns|: what went on until then is walked.
// |*inout_ns| becomes the kernel's beginning, and |*inout_row| the row of who began it; or both
// become those of the Send that a Recv waited for.
static leat_status_t walk_asynchronous(path_t* path, scope_t* scope, const leat_slice_t* kernel,
                                       uint32_t* inout_row, int64_t* inout_ns);

// What a queue gave: |*inout_ns| becomes the kernel's beginning.
static leat_status_t walk_input(path_t* path, const scope_t* scope, const leat_slice_t* kernel,
                                uint32_t row, int64_t* inout_ns) {
  const int64_t floor_ns = LEAT_MAX(kernel->begin_ns, scope->floor_ns);
  const uint32_t ender = leat_rows_ender(&path->rows, kernel, row);
  const scope_t inner = {.floor_ns = floor_ns, .home = ender, .input = kernel,
                         .most_ns = scope->most_ns, .nesting = scope->nesting + 1};
  const int64_t end_ns = *inout_ns;
  *inout_ns = floor_ns;
  if (ender != UINT32_MAX && scope->nesting < MAX_NESTING) {
    return walk(path, &inner, ender, end_ns);
  }
  const leat_path_piece_t piece = {.begin_ns = floor_ns, .end_ns = end_ns,
                                   .most_ns = scope->most_ns, .row = row,
                                   .cause = LEAT_DELAY_INPUT, .name = name_of(path, kernel),
                                   .other = LEAT_NO_NAME};
  return add_piece(path, &piece);
}

// The row waited up to |*inout_ns|, in |state|. Moves to what it waited for; false where nothing
// is found.
static leat_status_t walk_wait(path_t* path, scope_t* scope, const leat_row_state_t* state,
                               uint32_t* inout_row, int64_t* inout_ns, bool* out_found) {
  const int64_t from_ns = LEAT_MAX(state->blocked->begin_ns, scope->floor_ns);
  int64_t lead_ns;
  leat_slice_t wait = *state->blocked;
  if (!wait.by) wait.by = leat_rows_waker(&path->rows, *inout_row, from_ns, *inout_ns);
  const leat_arrival_t arrival = leat_rows_arrival(&path->rows, scope->home, *inout_row, &wait,
                                                   from_ns, *inout_ns, &lead_ns);
  *out_found = arrival.end_ns > 0;
  if (!*out_found) return leat_ok_status();
  const leat_path_piece_t wake = {.begin_ns = arrival.end_ns, .end_ns = *inout_ns,
                                  .most_ns = scope->most_ns, .row = *inout_row,
                                  .cause = LEAT_DELAY_WAKE, .name = name_of(path, state->kernel),
                                  .other = LEAT_NO_NAME};
  LEAT_RETURN_IF_ERROR(add_piece(path, &wake));
  *inout_ns = arrival.end_ns;
  scope->most_ns = LEAT_MIN(scope->most_ns, lead_ns);
  if (!arrival.asynchronous) {
    *inout_row = arrival.row;
    return leat_ok_status();
  }
  *inout_row = arrival.row;
  return walk_asynchronous(path, scope, arrival.asynchronous, inout_row, inout_ns);
}

// The row slept up to |*inout_ns|, in |state|, without a wait of the runtime's. If a thread of the
// process woke it, what that did meanwhile is walked, and |*inout_ns| becomes the beginning of the
// sleep.
static leat_status_t walk_sleep(path_t* path, const scope_t* scope, const leat_row_state_t* state,
                                uint32_t row, int64_t* inout_ns, bool* out_found) {
  const int64_t end_ns = *inout_ns;
  *out_found = false;
  if (!state->blocked || state->blocked_kind != LEAT_SPAN_OFF_CORE || !state->blocked->by ||
      state->blocked_value != LEAT_OFF_CORE_ASLEEP || state->blocked->end_ns > end_ns ||
      scope->nesting == MAX_NESTING) {
    return leat_ok_status();
  }
  scope_t inner = *scope;
  inner.home = leat_rows_of_thread(&path->rows, row, state->blocked->by);
  if (inner.home == UINT32_MAX) return leat_ok_status();
  inner.floor_ns = LEAT_MAX(state->begin_ns, scope->floor_ns);
  inner.sleeper = state;
  ++inner.nesting;
  *out_found = true;
  *inout_ns = inner.floor_ns;
  return walk(path, &inner, inner.home, end_ns);
}

static leat_status_t walk_queue(path_t* path, const scope_t* scope, const leat_row_state_t* state,
                                uint32_t* inout_row, int64_t* inout_ns);

// A kernel was ready from |from_ns| on, and began at |to_ns| on |row|: adds what that row did
// meanwhile. A kernel there was in the way, and who slept came late.
static leat_status_t add_readiness(path_t* path, const scope_t* outer, const leat_slice_t* kernel,
                                   uint32_t row, int64_t from_ns, int64_t to_ns) {
  scope_t scope = *outer;
  int64_t now_ns = to_ns;
  scope.floor_ns = from_ns;
  while (now_ns > from_ns) {
    const leat_row_state_t state = leat_rows_look(&path->rows, row, now_ns);
    const int64_t begin_ns = LEAT_MAX(state.begin_ns, from_ns);
    leat_path_piece_t piece = {.begin_ns = begin_ns, .end_ns = now_ns, .row = row,
                               .most_ns = scope.most_ns, .name = name_of(path, state.kernel),
                               .other = LEAT_NO_NAME};
    const bool slept = state.blocked && (state.blocked_kind == LEAT_SPAN_WAIT ||
                                         state.blocked_kind == LEAT_SPAN_PARK);
    if (slept || (state.blocked && state.blocked_kind == LEAT_SPAN_OFF_CORE &&
                  state.blocked_value == LEAT_OFF_CORE_ASLEEP && !state.kernel)) {
      piece.cause = LEAT_DELAY_WAKE;
      piece.name = LEAT_NO_NAME;
    } else if (state.blocked) {
      piece.cause = cause_of(path, &state, &scope);
      blame(path, &state, &piece);
    } else if (state.kernel) {
      piece.cause = LEAT_DELAY_TURN;
      piece.other = name_of(path, kernel);
    } else {
      piece.cause = LEAT_DELAY_RUNTIME;
    }
    LEAT_RETURN_IF_ERROR(add_piece(path, &piece));
    now_ns = begin_ns;
    if (now_ns > from_ns && state.task && now_ns == state.task->begin_ns) {
      LEAT_RETURN_IF_ERROR(walk_queue(path, &scope, &state, &row, &now_ns));
    }
  }
  return leat_ok_status();
}

// The second of two that a kernel, or the end of the step, waited for says what is gained at most.
static void limit_by(path_t* path, const leat_instance_t* last, const leat_instance_t* second) {
  if (!second->slice) return;
  const int64_t parting_ns = leat_instances_parting(path->instances, last, second);
  const int64_t shared_ns = last->row == second->row ? second->slice->begin_ns : 0;
  add_limit(path, (limit_t){last->slice->end_ns - second->slice->end_ns,
                            LEAT_MAX(parting_ns, shared_ns), parting_ns});
}

// A kernel without producers could begin with the step or the kernel around it, if its row is the
// one that runs either.
static bool find_start(const path_t* path, const scope_t* scope, uint32_t row, int64_t time_ns,
                       int64_t* out_ns) {
  const leat_row_state_t around = leat_rows_look(&path->rows, row, time_ns);
  *out_ns = around.kernel ? around.kernel->begin_ns : scope->floor_ns;
  return around.is_in_step && row == path->rows.step->row && !around.task;
}

// The walk came to the beginning of a kernel. Moves to the one that it waited for by the edges of
// its graph; |*out_found| is false where they are not known.
static leat_status_t walk_edges(path_t* path, scope_t* scope, const leat_slice_t* kernel,
                                uint32_t* inout_row, int64_t* inout_ns, bool* out_found) {
  const leat_instance_t of = {.node = leat_delay_graph_node(path->graph, kernel),
                              .row = *inout_row, .slice = kernel, .end_ns = kernel->end_ns};
  leat_instance_t last, second;
  int64_t from_ns;
  bool has_any;
  *out_found = false;
  if (of.node == LEAT_NO_NODE) return leat_ok_status();
  if (!path->has_end) {
    path->has_end = true;
    const leat_instance_t before = leat_instances_last_end(path->instances, &of);
    limit_by(path, &of, &before);
  }
  if (!leat_instances_producers(path->instances, of.node, *inout_ns, &last, &second, &has_any)) {
    if (has_any || !find_start(path, scope, *inout_row, *inout_ns, &from_ns)) {
      return leat_ok_status();
    }
    from_ns = LEAT_MIN(LEAT_MAX(from_ns, scope->floor_ns), *inout_ns);
    *out_found = from_ns < *inout_ns;
    LEAT_RETURN_IF_ERROR(add_readiness(path, scope, kernel, *inout_row, from_ns, *inout_ns));
    *inout_ns = from_ns;
    return leat_ok_status();
  }
  *out_found = true;
  from_ns = LEAT_MAX(last.slice->end_ns, scope->floor_ns);
  LEAT_RETURN_IF_ERROR(add_readiness(path, scope, kernel, *inout_row, from_ns, *inout_ns));
  limit_by(path, &last, &second);
  *inout_ns = from_ns;
  *inout_row = last.row;
  if (leat_rows_kind(&path->rows, last.slice) != LEAT_SPAN_ASYNC_KERNEL) return leat_ok_status();
  return walk_asynchronous(path, scope, last.slice, inout_row, inout_ns);
}

static leat_status_t walk_asynchronous(path_t* path, scope_t* scope, const leat_slice_t* kernel,
                                       uint32_t* inout_row, int64_t* inout_ns) {
  const int64_t number = leat_delay_graph_message(path->graph, kernel);
  const uint32_t row = *inout_row;
  bool is_found = false;
  if (number) {
    const leat_span_link_t* send;
    LEAT_RETURN_IF_ERROR(walk_message(path, scope, kernel, row, number, inout_ns, &send));
    if (send) {
      *inout_row = send->row;
      scope->recv = kernel;
      scope->send = kernel_at(path, send->row, *inout_ns);
      return leat_ok_status();
    }
  } else {
    LEAT_RETURN_IF_ERROR(walk_input(path, scope, kernel, row, inout_ns));
  }
  if (*inout_ns > scope->floor_ns && scope->nesting < MAX_NESTING) {
    ++scope->nesting;
    LEAT_RETURN_IF_ERROR(walk_edges(path, scope, kernel, inout_row, inout_ns, &is_found));
    --scope->nesting;
  }
  if (!is_found) *inout_row = leat_rows_starter(&path->rows, scope->home, row, *inout_ns);
  return leat_ok_status();
}

// The walk came to the beginning of a kernel. Work on a stream followed other work there, or a wait
// for another stream, or else its launch by a kernel, to which this moves.
static leat_status_t walk_launch(path_t* path, const scope_t* scope, const leat_row_state_t* state,
                                 uint32_t* inout_row, int64_t* inout_ns) {
  if (!leat_rows_is_stream_work(leat_rows_kind(&path->rows, state->kernel))) {
    return leat_ok_status();
  }
  const leat_timeline_row_t* r = path->rows.timeline->rows[*inout_row];
  for (uint32_t l = 0; l < r->lane_count; ++l) {
    const leat_lane_t* lane = &r->lanes[l];
    if (state->kernel < lane->slices || state->kernel >= lane->slices + lane->count) continue;
    const leat_span_link_t* launch = leat_delay_graph_link(
        path->graph, LEAT_SPAN_LAUNCH, lane->values[state->kernel - lane->slices], *inout_ns);
    const leat_row_state_t before = leat_rows_look(&path->rows, *inout_row, *inout_ns);
    const bool was_idle = !before.blocked && !leat_rows_is_working(&before);
    if (!launch || launch->slice->begin_ns < before.begin_ns || !was_idle) break;
    const int64_t from_ns = LEAT_MAX(launch->slice->end_ns, scope->floor_ns);
    LEAT_RETURN_IF_ERROR(add_wait(path, scope, *inout_row, LEAT_DELAY_STREAM, state->kernel,
                                  from_ns, *inout_ns));
    *inout_row = launch->row;
    *inout_ns = LEAT_MIN(from_ns, *inout_ns);
    break;
  }
  return leat_ok_status();
}

// The walk came to the beginning of a task: it was queued before.
static leat_status_t walk_queue(path_t* path, const scope_t* scope, const leat_row_state_t* state,
                                uint32_t* inout_row, int64_t* inout_ns) {
  const int64_t begin_ns = state->task->begin_ns;
  const int64_t queued_ns = LEAT_MIN(LEAT_MAX(state->queued_ns, 0), begin_ns);
  const int64_t from_ns = LEAT_MAX(begin_ns - queued_ns, scope->floor_ns);
  // A thread that had nothing to do came late; one that worked could not come. A pool without a
  // free thread holds up all who queue alike, hence the gain is not limited by another of them.
  const int64_t middle_ns = from_ns + (begin_ns - from_ns) / 2;
  const leat_row_state_t before = leat_rows_look(&path->rows, *inout_row, middle_ns);
  const bool was_busy = leat_rows_is_working(&before);
  const leat_path_piece_t piece = {
      .begin_ns = from_ns, .end_ns = begin_ns, .row = *inout_row,
      .most_ns = was_busy ? INT64_MAX : scope->most_ns,
      .cause = was_busy ? LEAT_DELAY_QUEUED : LEAT_DELAY_WAKE, .name = LEAT_NO_NAME,
      .other = was_busy ? name_of(path, before.kernel) : LEAT_NO_NAME};
  LEAT_RETURN_IF_ERROR(add_piece(path, &piece));
  *inout_ns = from_ns;
  *inout_row = leat_rows_starter(&path->rows, scope->home, *inout_row, from_ns);
  return leat_ok_status();
}

// Whether work on a stream, or a wait for another one, ended at |time_ns|: what came behind it
// stood in line.
static bool ends_stream_work(const path_t* path, uint32_t row, int64_t time_ns) {
  const leat_row_state_t state = leat_rows_look(&path->rows, row, time_ns);
  if (state.blocked) return state.blocked_kind == LEAT_SPAN_STREAM_WAIT;
  return state.kernel && leat_rows_is_stream_work(leat_rows_kind(&path->rows, state.kernel));
}

static bool is_waiting(const leat_row_state_t* state) {
  return state->blocked && (state->blocked_kind == LEAT_SPAN_WAIT ||
                            state->blocked_kind == LEAT_SPAN_STREAM_WAIT);
}

// Adds the pieces from |scope->floor_ns| to |end_ns|, the last first.
static leat_status_t walk(path_t* path, const scope_t* outer, uint32_t row, int64_t end_ns) {
  scope_t scope = *outer;
  int64_t now_ns = end_ns;
  int vain = 0;
  while (now_ns > scope.floor_ns) {
    const int64_t before_ns = now_ns;
    const uint32_t before_row = row;
    const leat_row_state_t state = leat_rows_look(&path->rows, row, now_ns);
    if (row == scope.home) scope.most_ns = outer->most_ns;
    bool is_done = false;
    if (is_waiting(&state) && vain < MAX_VAIN_SWITCHES) {
      LEAT_RETURN_IF_ERROR(walk_wait(path, &scope, &state, &row, &now_ns, &is_done));
    } else {
      LEAT_RETURN_IF_ERROR(walk_sleep(path, &scope, &state, row, &now_ns, &is_done));
    }
    if (!is_done) {
      const int64_t begin_ns = LEAT_MAX(state.begin_ns, scope.floor_ns);
      LEAT_RETURN_IF_ERROR(add_state(path, &scope, row, &state, begin_ns, now_ns));
      now_ns = begin_ns;
      bool is_found = false;
      if (now_ns > scope.floor_ns && !scope.input && state.kernel &&
          now_ns == state.kernel->begin_ns) {
        LEAT_RETURN_IF_ERROR(walk_launch(path, &scope, &state, &row, &now_ns));
        LEAT_RETURN_IF_ERROR(walk_edges(path, &scope, state.kernel, &row, &now_ns, &is_found));
      }
      if (now_ns > scope.floor_ns && !scope.input && !is_found) {
        if (state.task && now_ns == state.task->begin_ns) {
          LEAT_RETURN_IF_ERROR(walk_queue(path, &scope, &state, &row, &now_ns));
        } else if (state.shard && now_ns == state.shard->begin_ns) {
          row = leat_rows_loop_caller(&path->rows, scope.home, state.shard, row);
        } else if (!leat_rows_is_working(&state) && !state.blocked &&
                   !ends_stream_work(path, row, now_ns)) {
          row = scope.home;
        }
      }
    }
    vain = now_ns < before_ns ? 0 : row != before_row ? vain + 1 : MAX_VAIN_SWITCHES;
  }
  return leat_ok_status();
}

leat_status_t leat_delay_path_find(leat_instances_t* instances, const uint32_t* names,
                                   const leat_step_t* step, leat_path_piece_t** inout_pieces,
                                   size_t* inout_count, size_t* inout_capacity) {
  const leat_delay_graph_t* graph = instances->graph;
  path_t path = {.rows = {graph->timeline, names, step}, .graph = graph, .instances = instances,
                 .pieces = *inout_pieces, .count = *inout_count, .capacity = *inout_capacity};
  const scope_t scope = {.floor_ns = step->begin_ns, .home = step->row, .most_ns = INT64_MAX};
  leat_status_t status = leat_instances_find(instances, step);
  if (!status) status = walk(&path, &scope, step->row, step->end_ns);
  *inout_pieces = path.pieces;
  *inout_count = path.count;
  *inout_capacity = path.capacity;
  return status;
}

// Rounds of collectives within a process. A round collects its members until all are there, gives
// them ranks and starts their programs (kernel/collective_program.h). From then on a round is a
// table of hops that wait for their other half: offers that nobody has taken yet, and chains whose
// next hop takes what nobody has offered yet. Whoever finds the other half there takes it out of
// the table and does the work of both: it copies or merges the chunk straight from the memory of
// one member into that of the other, and then runs the chains that can go on.
//
//   member  pending = chains under way + offers not taken + 1 while it waits for the others
//     WAITS ──all are there──▶ RUNS ──pending is 0──▶ finish: done(status of the round)
//
// One mutex guards all rounds. It is never held while chunks are worked on, a cancellation is
// registered or taken back, or |done| is called. A member is freed only when nothing of it is
// pending, hence after the last read of its memory by another member's chain; this is also why a
// failed round ends only when the work under way has ended.
#include "kernel/collective.h"

#include "base/checked.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/thread.h"
#include "kernel/cancellation.h"
#include "kernel/collective_round.h"
#include "kernel/resource.h"

// A chunk of at least so many bytes is worked on in a task of its own where there is a pool.
#define TASK_BYTES (64 << 10)

struct leat_collectives_s {
  leat_reference_count_t references;
  leat_allocator_t* allocator;
  leat_mutex_t mutex;        // guards what follows
  leat_round_t* open;             // rounds that are not complete
  leat_member_t* timed;
  bool has_timer;
  bool ends;
  int64_t timer_wakes_ns;    // when the timer looks next
  leat_condition_t changed;  // an earlier deadline, or |ends|
  leat_thread_t timer;
};

// ---- The end of a member ------------------------------------------------------------------------

static void remove_deadline(leat_member_t* m) {
  if (m->deadline_ns == LEAT_DEADLINE_NEVER) return;
  if (m->previous_timed) m->previous_timed->next_timed = m->next_timed;
  if (m->next_timed) m->next_timed->previous_timed = m->previous_timed;
  if (m->all->timed == m) m->all->timed = m->next_timed;
  m->deadline_ns = LEAT_DEADLINE_NEVER;
}

static void free_round(leat_collectives_t* all, leat_round_t* round) {
  leat_word_map_deinitialize(&round->hops);
  leat_status_free(round->status);
  leat_allocator_free(all->allocator, round);
}

static void close_round(leat_collectives_t* all, leat_round_t* round) {
  for (leat_round_t** place = &all->open; *place; place = &(*place)->next) {
    if (*place != round) continue;
    *place = round->next;
    return;
  }
}

// Something of |m| has ended; with the mutex held. When it was the last thing, the member leaves
// its round, which ends with its last member, and is put into the list |ended|.
static void settle(leat_member_t* m, leat_member_t** ended) {
  LEAT_DCHECK(m->pending > 0 && m->round);
  if (--m->pending > 0) return;
  leat_round_t* round = m->round;
  leat_member_t** place = &round->members;
  while (*place != m) place = &(*place)->next;
  *place = m->next;
  m->status = leat_status_clone(round->status);
  m->round = NULL;
  remove_deadline(m);
  if (--round->live == 0) {
    close_round(m->all, round);
    free_round(m->all, round);
  }
  m->next = *ended;
  *ended = m;
}

// Ends the kernel of a member that has left its round. The mutex is free.
static void finish(void* data) {
  leat_member_t* m = data;
  leat_kernel_context_t* context = m->context;
  leat_kernel_done_fn_t done = m->done;
  leat_status_t status = m->status;
  // From here on no cancellation looks at the member.
  if (m->registered) leat_cancellation_deregister(context->services->cancellation, m->token);
  if (!status && m->call.completed) status = m->call.completed(context);
  leat_collective_program_free(&m->program, m->all->allocator);
  leat_tensor_release(&m->call.scratch);
  leat_allocator_free(m->all->allocator, m);
  done(context, status);
}

// The first member goes on here, the others side by side with it where there is a pool, since what
// follows may take long.
static void finish_all(leat_member_t* ended) {
  while (ended) {
    leat_member_t* m = ended;
    ended = m->next;
    leat_thread_pool_t* pool = m->context->services->pool;
    if (ended && pool) {
      leat_thread_pool_schedule(pool, finish, m);
    } else {
      finish(m);
    }
  }
}

// Ends the round with |status|, which is taken, unless it has failed already; with the mutex held.
static void fail_round(leat_round_t* round, leat_status_t status, leat_member_t** ended) {
  if (round->status) {
    leat_status_free(status);
    return;
  }
  round->status = status;
  // The round lives until this member lets go of it: each of the loops may end others.
  leat_member_t* last = round->members;
  if (!last) return;
  ++last->pending;
  for (size_t i = 0; i < round->hops.capacity; ++i) {
    if (!round->hops.used[i]) continue;
    leat_hop_t* hop = (leat_hop_t*)(uintptr_t)round->hops.values[i];
    settle(hop->chain->member, ended);
  }
  leat_word_map_clear(&round->hops);
  for (leat_member_t *m = round->members, *next; m; m = next) {
    next = m->next;
    if (!m->waits) continue;
    m->waits = false;
    settle(m, ended);
  }
  settle(last, ended);
}

// ---- Programs -----------------------------------------------------------------------------------

// Whether the chain's next hop has no other half.
static bool is_work(const leat_chain_t* chain) {
  return chain->next != chain->end && chain->next->kind >= LEAT_HOP_DIVIDE;
}

// A tag in one word. No group whose chains found room in memory has so many ranks that two tags are
// the same word.
static uint64_t tag_word(leat_hop_tag_t tag) {
  return (uint64_t)(uint32_t)tag.a << 48 ^ (uint64_t)(uint32_t)tag.b << 24 ^ (uint32_t)tag.c;
}

// What became of the hop that a chain has reached.
typedef enum encounter_e {
  ENCOUNTER_ENDED,   // the chain is over, or its round has failed
  ENCOUNTER_WAITS,   // the other half will go on with the chain
  ENCOUNTER_OFFERED,  // the offer is in the table, or taken by |*out_taker|
  ENCOUNTER_TAKES,   // the chain's |source| is there
} encounter_t;

// Looks for the other half of the chain's next hop; with the mutex held. From ENDED and WAITS on
// the chain is no longer the caller's.
static encounter_t meet(leat_chain_t* chain, leat_chain_t** out_taker, leat_member_t** ended) {
  leat_member_t* m = chain->member;
  leat_round_t* round = m->round;
  leat_hop_t* hop = chain->next;
  *out_taker = NULL;
  if (round->status || hop == chain->end) {
    settle(m, ended);
    return ENCOUNTER_ENDED;
  }
  const bool offers = hop->kind == LEAT_HOP_OFFER;
  uint64_t word = tag_word(hop->tag), found;
  if (!leat_word_map_get(&round->hops, word, &found)) {
    leat_status_t status = leat_word_map_set(&round->hops, word, (uint64_t)(uintptr_t)hop);
    if (status) {
      fail_round(round, status, ended);
      settle(m, ended);
      return ENCOUNTER_ENDED;
    }
    if (!offers) return ENCOUNTER_WAITS;
    ++m->pending;
    ++chain->next;
    return ENCOUNTER_OFFERED;
  }
  leat_hop_t* other = (leat_hop_t*)(uintptr_t)found;
  LEAT_DCHECK((other->kind == LEAT_HOP_OFFER) != offers);
  leat_word_map_erase(&round->hops, word);
  if (!offers) {
    chain->source = other;
    return ENCOUNTER_TAKES;
  }
  ++m->pending;
  ++chain->next;
  other->chain->source = hop;
  *out_taker = other->chain;
  return ENCOUNTER_OFFERED;
}

// The work of a hop is done: the chain goes on, and the offer that it took, if any, is settled.
static void settle_work(leat_chain_t* chain, leat_member_t** ended) {
  leat_hop_t* source = chain->source;
  chain->source = NULL;
  ++chain->next;
  if (source) settle(source->chain->member, ended);
}

static void run_chains(leat_chain_t* ready);
static void run_task(void* data) { run_chains(data); }

// Has |chain| run: by a task where its work is worth one, else by whoever walks the list |ready|.
static void make_ready(leat_chain_t* chain, leat_chain_t** ready) {
  const leat_member_t* m = chain->member;
  leat_thread_pool_t* pool = m->context->services->pool;
  chain->ready = NULL;
  if (pool && (size_t)chain->count * leat_dtype_size(m->call.dtype) >= TASK_BYTES) {
    leat_thread_pool_schedule(pool, run_task, chain);
    return;
  }
  chain->ready = *ready;
  *ready = chain;
}

// Runs a chain until it ends or waits. A chain that takes what this one offers becomes ready.
static void run_chain(leat_chain_t* chain, leat_chain_t** ready, leat_member_t** ended) {
  const leat_member_t* m = chain->member;  // which may be gone when the chain ends or waits
  leat_collectives_t* all = m->all;
  for (encounter_t met = ENCOUNTER_TAKES; met != ENCOUNTER_ENDED && met != ENCOUNTER_WAITS;) {
    leat_chain_t* taker = NULL;
    const bool works = chain->source || is_work(chain);
    if (works) leat_collective_work(chain, &m->call);
    leat_mutex_lock(&all->mutex);
    if (works) {
      settle_work(chain, ended);
    } else {
      met = meet(chain, &taker, ended);
    }
    leat_mutex_unlock(&all->mutex);
    if (taker) make_ready(taker, ready);
  }
}

static void run_chains(leat_chain_t* ready) {
  leat_member_t* ended = NULL;
  while (ready) {
    leat_chain_t* chain = ready;
    ready = chain->ready;
    run_chain(chain, &ready, &ended);
  }
  finish_all(ended);
}

// ---- Rounds -------------------------------------------------------------------------------------

// The open round that |m| belongs to, made where there is none.
static leat_status_t find_round(leat_member_t* m, leat_round_t** out_round) {
  leat_collectives_t* all = m->all;
  const leat_kernel_context_t* c = m->context;
  const int64_t step = c->services->container_step_id;
  for (leat_round_t* round = all->open; round; round = round->next) {
    const leat_collective_call_t* call = &round->members->call;
    if (round->step_id == step && call->group_key == m->call.group_key &&
        call->instance_key == m->call.instance_key && round->frame_id == c->frame_id &&
        round->iteration == c->iteration) {
      *out_round = round;
      return leat_ok_status();
    }
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(all->allocator, 1, out_round));
  leat_round_t* round = *out_round;
  *round = (leat_round_t){.step_id = step, .frame_id = c->frame_id, .iteration = c->iteration,
                     .next = all->open};
  leat_word_map_initialize(all->allocator, &round->hops);
  all->open = round;
  return leat_ok_status();
}

// Writes the programs of all members.
static leat_status_t create_programs(const leat_round_t* round) {
  leat_allocator_t* allocator = round->members->all->allocator;
  leat_collective_group_t group = {0};
  int32_t rank = 0;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)round->joined, &group.places));
  for (const leat_member_t* m = round->members; m; m = m->next, ++rank) {
    group.places[rank] = m->call.place < 0 ? rank : m->call.place;
    if (m->call.is_source) group.source = rank;
  }
  leat_status_t status = leat_ok_status();
  rank = 0;
  for (leat_member_t* m = round->members; m && !status; m = m->next, ++rank) {
    status = leat_collective_program_create(&m->call, rank, &group, allocator, &m->program);
  }
  leat_allocator_free(allocator, group.places);
  return status;
}

// Starts a round that is complete. Each member's |pending| still counts that it waited, so that no
// member ends meanwhile and the list of members stays as it is.
static void start_round(leat_round_t* round) {
  leat_collectives_t* all = round->members->all;
  leat_status_t status = create_programs(round);
  leat_chain_t* ready = NULL;
  leat_member_t* ended = NULL;
  leat_mutex_lock(&all->mutex);
  if (status) fail_round(round, status, &ended);
  for (leat_member_t* m = round->members; m; m = m->next) m->pending += m->program.chain_count;
  leat_mutex_unlock(&all->mutex);
  for (leat_member_t* m = round->members; m; m = m->next) {
    for (int64_t i = 0; i < m->program.chain_count; ++i) {
      m->program.chains[i].member = m;
      make_ready(&m->program.chains[i], &ready);
    }
  }
  leat_mutex_lock(&all->mutex);
  for (leat_member_t *m = round->members, *next; m; m = next) {
    next = m->next;
    settle(m, &ended);
  }
  leat_mutex_unlock(&all->mutex);
  run_chains(ready);
  finish_all(ended);
}

// ---- Timeouts -----------------------------------------------------------------------------------

// A member whose deadline has passed; else NULL and the next deadline.
static leat_member_t* find_late(const leat_collectives_t* all, int64_t* out_next_ns) {
  const int64_t now_ns = leat_clock_now_ns();
  *out_next_ns = LEAT_DEADLINE_NEVER;
  for (leat_member_t* m = all->timed; m; m = m->next_timed) {
    if (m->deadline_ns <= now_ns) return m;
    *out_next_ns = LEAT_MIN(*out_next_ns, m->deadline_ns);
  }
  return NULL;
}

// The timer's thread, which starts with the first deadline: fails the rounds of late members.
// What follows for them runs elsewhere, where there is a pool, since it may free the collectives.
static void run_timer(void* data) {
  leat_collectives_t* all = data;
  leat_mutex_lock(&all->mutex);
  while (!all->ends) {
    leat_member_t *late, *ended = NULL;
    while ((late = find_late(all, &all->timer_wakes_ns))) {
      remove_deadline(late);
      fail_round(late->round,
                 leat_make_status(LEAT_DEADLINE_EXCEEDED, "%s", late->waits
                                      ? "Collective has timed out waiting for other workers."
                                      : "Collective has timed out during execution."),
                 &ended);
    }
    if (!ended) {
      leat_condition_wait_until(&all->changed, &all->mutex, all->timer_wakes_ns);
      continue;
    }
    leat_mutex_unlock(&all->mutex);
    while (ended) {
      leat_member_t* m = ended;
      ended = m->next;
      leat_thread_pool_t* pool = m->context->services->pool;
      if (pool) {
        leat_thread_pool_schedule(pool, finish, m);
      } else {
        finish(m);
      }
    }
    leat_mutex_lock(&all->mutex);
  }
  leat_mutex_unlock(&all->mutex);
}

static leat_status_t add_deadline(leat_member_t* m) {
  leat_collectives_t* all = m->all;
  if (!(m->call.timeout_seconds > 0)) return leat_ok_status();
  if (!all->has_timer) {
    LEAT_RETURN_IF_ERROR(leat_thread_start("leat-collective", run_timer, all, &all->timer));
    all->has_timer = true;
  }
  double milliseconds = LEAT_MIN(m->call.timeout_seconds * 1e3 + 1, 1e15);
  m->deadline_ns = leat_clock_deadline_after_ms((int64_t)milliseconds);
  m->next_timed = all->timed;
  if (all->timed) all->timed->previous_timed = m;
  all->timed = m;
  if (m->deadline_ns < all->timer_wakes_ns) leat_condition_notify_all(&all->changed);
  return leat_ok_status();
}

// ---- Taking part --------------------------------------------------------------------------------

static leat_status_t cancelled_status(void) {
  return leat_make_status(LEAT_CANCELLED, "The collective was cancelled");
}

// A leat_cancel_fn_t of a member, which may have left its round meanwhile or not have joined yet.
static void on_cancel(void* data) {
  leat_member_t* m = data;
  leat_collectives_t* all = m->all;
  leat_member_t* ended = NULL;
  leat_mutex_lock(&all->mutex);
  m->cancelled = true;
  if (m->round) fail_round(m->round, cancelled_status(), &ended);
  leat_mutex_unlock(&all->mutex);
  finish_all(ended);
}

static leat_status_t make_member(leat_kernel_context_t* c, const leat_collective_call_t* call,
                                 leat_kernel_done_fn_t done, leat_member_t** out_member) {
  leat_collectives_t* all = leat_resource_manager_collectives(c->services->resources);
  *out_member = NULL;
  if (!all) return leat_kernel_error(c, LEAT_FAILED_PRECONDITION, "there are no collectives here");
  LEAT_DCHECK(call->group_size > 0 && call->place < call->group_size);
  leat_member_t* m;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(all->allocator, 1, &m));
  *m = (leat_member_t){.all = all, .context = c, .done = done, .call = *call,
                  .deadline_ns = LEAT_DEADLINE_NEVER};
  leat_cancellation_t* cancellation = c->services->cancellation;
  m->registered =
      cancellation && leat_cancellation_register(cancellation, on_cancel, m, &m->token);
  if (cancellation && !m->registered) {
    leat_allocator_free(all->allocator, m);
    return leat_cancellation_is_cancelled(cancellation)
               ? cancelled_status()
               : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory to wait for a collective");
  }
  *out_member = m;
  return leat_ok_status();
}

// Puts |m| into its round, with the mutex held. A failure that the other members have to know of
// ends the round, and with it |m|; any other one is returned. |*out_complete| is the round, if it
// is to be started.
static leat_status_t join(leat_member_t* m, leat_round_t** out_complete, leat_member_t** ended) {
  leat_round_t* round;
  if (m->cancelled) return cancelled_status();
  LEAT_RETURN_IF_ERROR(find_round(m, &round));
  leat_status_t status = round->members ? leat_round_check_member(round, m) : leat_ok_status();
  leat_round_add(round, m);
  if (!status) status = add_deadline(m);
  const bool is_complete = !status && round->joined == m->call.group_size;
  if (is_complete) status = leat_round_check(round);
  if (status || is_complete) close_round(m->all, round);
  if (status) {
    fail_round(round, status, ended);
  } else if (is_complete) {
    for (leat_member_t* other = round->members; other; other = other->next) other->waits = false;
    *out_complete = round;
  }
  return leat_ok_status();
}

void leat_collective_start(leat_kernel_context_t* context, const leat_collective_call_t* call,
                           leat_kernel_done_fn_t done) {
  leat_member_t *m, *ended = NULL;
  leat_round_t* complete = NULL;
  leat_status_t status = make_member(context, call, done, &m);
  if (status) {
    leat_tensor_t scratch = call->scratch;
    leat_tensor_release(&scratch);
    done(context, status);
    return;
  }
  leat_collectives_t* all = m->all;
  leat_mutex_lock(&all->mutex);
  status = join(m, &complete, &ended);
  leat_mutex_unlock(&all->mutex);
  if (status) {
    m->status = status;
    finish(m);
  }
  finish_all(ended);
  if (complete) start_round(complete);
}

// ---- All rounds ---------------------------------------------------------------------------------

leat_status_t leat_collectives_create(leat_allocator_t* allocator,
                                      leat_collectives_t** out_collectives) {
  leat_collectives_t* all;
  *out_collectives = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &all));
  all->references = 1;
  all->allocator = allocator;
  all->timer_wakes_ns = LEAT_DEADLINE_NEVER;
  leat_mutex_initialize(&all->mutex);
  leat_condition_initialize(&all->changed);
  *out_collectives = all;
  return leat_ok_status();
}

void leat_collectives_retain(leat_collectives_t* collectives) {
  leat_reference_count_retain(&collectives->references);
}

void leat_collectives_release(leat_collectives_t* collectives) {
  leat_collectives_t* all = collectives;
  if (!all || !leat_reference_count_release(&all->references)) return;
  LEAT_DCHECK(!all->open && !all->timed);
  if (all->has_timer) {
    leat_mutex_lock(&all->mutex);
    all->ends = true;
    leat_condition_notify_all(&all->changed);
    leat_mutex_unlock(&all->mutex);
    leat_thread_join(all->timer);
  }
  leat_condition_deinitialize(&all->changed);
  leat_mutex_deinitialize(&all->mutex);
  leat_allocator_free(all->allocator, all);
}

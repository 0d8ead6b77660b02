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
// Where members of a group belong to other processes, a member waits until the wire has told it who
// they are, and starts by itself. Offers to other processes stay in the table until these ask for
// them (kernel/collective_remote.c), and so do requests that come before the offer.
//
// One mutex guards all rounds. It is never held while chunks are worked on, a cancellation is
// registered or taken back, or |done| is called. A member is freed only when nothing of it is
// pending, hence after the last read of its memory by another member's chain; this is also why a
// failed round ends only when the work under way has ended.
#include "kernel/collective.h"

#include "base/checked.h"
#include "base/clock.h"
#include "kernel/cancellation.h"
#include "kernel/collective_round.h"
#include "kernel/resource.h"

// A chunk of at least so many bytes is worked on in a task of its own where there is a pool.
#define TASK_BYTES (64 << 10)

// ---- The end of a member ------------------------------------------------------------------------

void leat_round_free(leat_collectives_t* all, leat_round_t* round) {
  leat_word_map_deinitialize(&round->hops);
  leat_status_free(round->status);
  leat_allocator_free(all->allocator, round);
}

void leat_round_close(leat_collectives_t* all, leat_round_t* round) {
  round->is_closed = true;
  for (leat_round_t** place = &all->rounds; *place; place = &(*place)->next) {
    if (*place != round) continue;
    *place = round->next;
    return;
  }
}

// Something of |m| has ended. When it was the last thing, the member leaves its round, and its
// kernel is to be ended. The round ends with its last member; but one that failed, or that another
// process still asks something of, stays until the step is over.
void leat_member_settle(leat_member_t* m, leat_aftermath_t* after) {
  LEAT_DCHECK(m->pending > 0 && m->round);
  if (--m->pending > 0) return;
  leat_round_t* round = m->round;
  leat_member_t** place = &round->members;
  while (*place != m) place = &(*place)->next;
  *place = m->next;
  m->status = leat_status_clone(round->status);
  m->round = NULL;
  if (m->question) m->question->member = NULL;
  leat_deadline_remove(m);
  const bool stays = m->all->wire && !round->is_closed && (round->status || round->hops.count > 0);
  if (--round->live == 0 && !stays) {
    leat_round_close(m->all, round);
    leat_round_free(m->all, round);
  }
  m->next = after->ended;
  after->ended = m;
}

// Ends the kernel of a member that has left its round. The mutex is free.
static void finish(void* data) {
  leat_member_t* m = data;
  leat_kernel_context_t* context = m->context;
  leat_kernel_done_fn_t done = m->done;
  leat_status_t status = m->status;
  // From here on no cancellation looks at the member.
  if (m->registered) leat_cancellation_deregister(context->services->cancellation, m->token);
  leat_member_expect(m, false);
  if (!status && m->call.completed) status = m->call.completed(&m->call);
  leat_collective_program_free(&m->program, m->all->allocator);
  leat_tensor_release(&m->call.scratch);
  leat_allocator_free(m->all->allocator, m);
  done(context, status);
}

// The last kernel goes on here, the others side by side with it where there is a pool, since what
// follows may take long.
static void finish_all(leat_aftermath_t* after, bool ends_here) {
  while (after->ended) {
    leat_member_t* m = after->ended;
    after->ended = m->next;
    leat_thread_pool_t* pool = m->context->services->pool;
    if (pool && (after->ended || !ends_here)) {
      leat_thread_pool_schedule(pool, finish, m);
    } else {
      finish(m);
    }
  }
}

static void answer_and_cancel(leat_collectives_t* all, leat_aftermath_t* after) {
  while (after->requests) {
    leat_collective_request_t* request = after->requests;
    after->requests = request->next;
    request->fn(request->data, request->status, LEAT_SV(""));
    leat_allocator_free(all->allocator, request);
  }
  while (after->fetches) {
    leat_collective_fetch_t* fetch = after->fetches;
    after->fetches = fetch->next;
    all->wire->cancel(fetch->call);
    leat_collective_fetch_release(fetch);
  }
}

void leat_aftermath_do(leat_collectives_t* all, leat_aftermath_t* after) {
  answer_and_cancel(all, after);
  finish_all(after, true);
}

void leat_aftermath_do_elsewhere(leat_collectives_t* all, leat_aftermath_t* after) {
  answer_and_cancel(all, after);
  finish_all(after, false);
}

// Has the fetches of a member cancelled.
static void cancel_fetches(leat_member_t* m, leat_aftermath_t* after) {
  for (int64_t i = 0; i < m->program.chain_count; ++i) {
    leat_collective_fetch_t* fetch = m->program.chains[i].fetch;
    if (!fetch || fetch->is_cancelled) continue;
    fetch->is_cancelled = true;
    if (!fetch->has_call) continue;  // whoever starts it looks
    leat_reference_count_retain(&fetch->references);
    fetch->next = after->fetches;
    after->fetches = fetch;
  }
}

// Ends the round with |status|, which is taken, unless it has failed already.
void leat_round_fail(leat_collectives_t* all, leat_round_t* round, leat_status_t status,
                     leat_aftermath_t* after) {
  if (round->status) {
    leat_status_free(status);
    return;
  }
  round->status = status;
  // The round lives until this member lets go of it: each of the loops may end others.
  leat_member_t* last = round->members;
  if (last) ++last->pending;
  for (size_t i = 0; i < round->hops.capacity; ++i) {
    if (!round->hops.used[i]) continue;
    leat_hop_t* hop = (leat_hop_t*)(uintptr_t)round->hops.values[i];
    if (hop->chain) {
      leat_member_settle(hop->chain->member, after);
      continue;
    }
    leat_collective_request_t* request = (leat_collective_request_t*)hop;
    request->status = leat_status_clone(status);
    request->next = after->requests;
    after->requests = request;
  }
  leat_word_map_clear(&round->hops);
  leat_collective_fail_requests(all, round, after);
  for (leat_member_t *m = round->members, *next; m; m = next) {
    next = m->next;
    cancel_fetches(m, after);
    if (!m->waits) continue;
    m->waits = false;
    leat_member_settle(m, after);
  }
  if (last) leat_member_settle(last, after);
}

// ---- Programs -----------------------------------------------------------------------------------

// Whether the chain's next hop has no other half.
static bool is_work(const leat_chain_t* chain) {
  return chain->next != chain->end && chain->next->kind >= LEAT_HOP_DIVIDE;
}

// What became of the hop that a chain has reached.
typedef enum encounter_e {
  ENCOUNTER_ENDED,   // the chain is over, or its round has failed
  ENCOUNTER_WAITS,   // the other half will go on with the chain
  ENCOUNTER_OFFERED,  // the offer is in the table, or taken by |*out_taker|
  ENCOUNTER_TAKES,   // the chain's |source| is there
  ENCOUNTER_FETCHES,  // the other half is that of another process
} encounter_t;

// Looks for the other half of the chain's next hop; with the mutex held. From ENDED and WAITS on
// the chain is no longer the caller's. |*out_taker| is the other half of an offer.
static encounter_t meet(leat_chain_t* chain, leat_hop_t** out_taker, leat_aftermath_t* after) {
  leat_member_t* m = chain->member;
  leat_round_t* round = m->round;
  leat_hop_t* hop = chain->next;
  *out_taker = NULL;
  if (round->status || hop == chain->end) {
    leat_member_settle(m, after);
    return ENCOUNTER_ENDED;
  }
  const bool offers = hop->kind == LEAT_HOP_OFFER;
  if (hop->is_remote && !offers) return ENCOUNTER_FETCHES;
  uint64_t word = leat_hop_tag_word(hop->tag), found;
  if (offers && hop->is_remote && m->call.kind == LEAT_COLLECTIVE_ALL_TO_ALL) {
    *out_taker = leat_collective_take_request(m->all, hop);
    if (*out_taker) {
      ++m->pending;
      ++chain->next;
      return ENCOUNTER_OFFERED;
    }
  }
  if (!leat_word_map_get(&round->hops, word, &found)) {
    leat_status_t status = leat_word_map_set(&round->hops, word, (uint64_t)(uintptr_t)hop);
    if (status) {
      leat_round_fail(m->all, round, status, after);
      leat_member_settle(m, after);
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
  if (other->chain) other->chain->source = hop;
  *out_taker = other;
  return ENCOUNTER_OFFERED;
}

// The work of a hop is done: the chain goes on, and the offer that it took, if any, is settled.
static void settle_work(leat_chain_t* chain, leat_aftermath_t* after) {
  leat_hop_t* source = chain->source;
  chain->source = NULL;
  ++chain->next;
  if (source) leat_member_settle(source->chain->member, after);
}

static void run_task(void* data) { leat_collective_run_chain(data); }

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

// Gives the chunk of |chain| to the process that has asked for it, which settles the offer.
static void give(const leat_chain_t* chain, leat_hop_t* taker, leat_aftermath_t* after) {
  leat_collective_request_t* request = (leat_collective_request_t*)taker;
  leat_member_t* m = chain->member;
  size_t bytes = (size_t)chain->count * leat_dtype_size(m->call.dtype);
  request->fn(request->data, leat_ok_status(), leat_string_view_make(chain->bytes, bytes));
  leat_allocator_free(m->all->allocator, request);
  leat_mutex_lock(&m->all->mutex);
  leat_member_settle(m, after);
  leat_mutex_unlock(&m->all->mutex);
}

// Runs a chain until it ends or waits. A chain that takes what this one offers becomes ready.
static void run_chain(leat_chain_t* chain, leat_chain_t** ready, leat_aftermath_t* after) {
  const leat_member_t* m = chain->member;  // which may be gone when the chain ends or waits
  leat_collectives_t* all = m->all;
  encounter_t met;
  do {
    leat_hop_t* taker = NULL;
    const bool works = chain->source || is_work(chain);
    if (works) leat_collective_work(chain, &m->call);
    leat_mutex_lock(&all->mutex);
    met = ENCOUNTER_OFFERED;
    if (works) {
      settle_work(chain, after);
    } else {
      met = meet(chain, &taker, after);
    }
    leat_mutex_unlock(&all->mutex);
    // A chain that is ready may run to its end on another thread, and the hop be gone with it.
    if (taker && taker->chain) {
      make_ready(taker->chain, ready);
    } else if (taker) {
      give(chain, taker, after);
    }
  } while (met == ENCOUNTER_OFFERED || met == ENCOUNTER_TAKES);
  if (met == ENCOUNTER_FETCHES) leat_collective_fetch_start(chain);
}

static void run_chains(leat_collectives_t* all, leat_chain_t* ready) {
  leat_aftermath_t after = {0};
  while (ready) {
    leat_chain_t* chain = ready;
    ready = chain->ready;
    run_chain(chain, &ready, &after);
  }
  leat_aftermath_do(all, &after);
}

void leat_collective_run_chain(leat_chain_t* chain) {
  chain->ready = NULL;
  run_chains(((leat_member_t*)chain->member)->all, chain);
}

// ---- Rounds -------------------------------------------------------------------------------------

leat_status_t leat_round_find(leat_collectives_t* all, const leat_round_t* like,
                              leat_round_t** out_round) {
  for (leat_round_t* round = all->rounds; round; round = round->next) {
    if (round->step_id == like->step_id && round->group_key == like->group_key &&
        round->instance_key == like->instance_key && round->frame_id == like->frame_id &&
        round->iteration == like->iteration) {
      *out_round = round;
      return leat_ok_status();
    }
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(all->allocator, 1, out_round));
  leat_round_t* round = *out_round;
  *round = *like;
  round->next = all->rounds;
  leat_word_map_initialize(all->allocator, &round->hops);
  all->rounds = round;
  return leat_ok_status();
}

// Writes the programs of all members.
static leat_status_t create_programs(const leat_round_t* round) {
  leat_allocator_t* allocator = round->members->all->allocator;
  leat_collective_group_t group = {0};
  int32_t rank = 0;
  for (const leat_member_t* m = round->members; m; m = m->next, ++rank) {
    if (m->call.is_source) group.source = rank;
  }
  rank = 0;
  for (leat_member_t* m = round->members; m; m = m->next, ++rank) {
    LEAT_RETURN_IF_ERROR(
        leat_collective_program_create(&m->call, rank, &group, allocator, &m->program));
  }
  return leat_ok_status();
}

// Counts the chains of |m|, which has a program, and adds them to those that are ready.
static void launch(leat_member_t* m, leat_chain_t** ready) {
  leat_mutex_lock(&m->all->mutex);
  m->pending += m->program.chain_count;
  leat_mutex_unlock(&m->all->mutex);
  for (int64_t i = 0; i < m->program.chain_count; ++i) {
    m->program.chains[i].member = m;
    make_ready(&m->program.chains[i], ready);
  }
}

// Starts a round that is complete. Each member's |pending| still counts that it waited, so that no
// member ends meanwhile and the list of members stays as it is.
static void start_round(leat_round_t* round) {
  leat_collectives_t* all = round->members->all;
  leat_status_t status = create_programs(round);
  leat_chain_t* ready = NULL;
  leat_aftermath_t after = {0};
  if (status) {
    leat_mutex_lock(&all->mutex);
    leat_round_fail(all, round, status, &after);
    leat_mutex_unlock(&all->mutex);
  }
  for (leat_member_t* m = round->members; m; m = m->next) launch(m, &ready);
  leat_mutex_lock(&all->mutex);
  for (leat_member_t *m = round->members, *next; m; m = next) {
    next = m->next;
    leat_member_settle(m, &after);
  }
  leat_mutex_unlock(&all->mutex);
  run_chains(all, ready);
  leat_aftermath_do(all, &after);
}

// Writes the program of a member whose group the wire has told.
static leat_status_t create_program(leat_member_t* m, int32_t source) {
  const leat_collective_members_t* members = m->members;
  const leat_collective_group_t group = {members->task_count, members->starts, source,
                                         members->are_alike && members->task_count > 1,
                                         members->leaders};
  int32_t rank = 0;
  while (rank < members->size &&
         !leat_string_view_equal(members->devices[rank], m->context->kernel->device->name)) {
    ++rank;
  }
  if (rank == members->size || members->size != m->call.group_size || source >= members->size) {
    return leat_make_status(LEAT_INTERNAL, "the group that the leader told has not this device");
  }
  if (m->call.kind == LEAT_COLLECTIVE_BROADCAST && m->call.is_source != (rank == source)) {
    return leat_make_status(LEAT_INTERNAL, "the source of instance %d is device %.*s, and cannot "
                            "change: device %.*s does otherwise", (int)m->call.instance_key,
                            LEAT_SV_ARG(members->devices[source]),
                            LEAT_SV_ARG(members->devices[rank]));
  }
  LEAT_RETURN_IF_ERROR(leat_collective_program_create(&m->call, rank, &group, m->all->allocator,
                                                      &m->program));
  for (int64_t i = 0; i < m->program.chain_count; ++i) {
    const leat_chain_t* chain = &m->program.chains[i];
    for (leat_hop_t* hop = chain->next; hop != chain->end; ++hop) {
      hop->is_remote = members->are_remote[hop->peer];
    }
  }
  return leat_ok_status();
}

// A leat_collective_resolved_fn_t: starts the member, unless its round has failed meanwhile.
static void resolved(void* data, leat_status_t status, const leat_collective_members_t* members,
                     int32_t source) {
  leat_collective_question_t question = *(leat_collective_question_t*)data;
  leat_collectives_t* all = question.all;
  leat_aftermath_t after = {0};
  leat_chain_t* ready = NULL;
  leat_mutex_lock(&all->mutex);
  leat_member_t* m = ((leat_collective_question_t*)data)->member;
  if (m) m->question = NULL;
  if (m && !status) {
    m->waits = false;  // |pending| goes on counting it until the start is over
  } else if (m) {
    leat_round_fail(all, m->round, status, &after);
  } else {
    leat_status_free(status);
  }
  const bool starts = m && !m->waits && !status;
  leat_mutex_unlock(&all->mutex);
  leat_allocator_free(all->allocator, data);
  if (starts) {
    m->members = members;
    status = create_program(m, source);
    if (!status) leat_member_expect(m, true);
    if (!status) launch(m, &ready);
    leat_mutex_lock(&all->mutex);
    if (status) leat_round_fail(all, m->round, status, &after);
    leat_member_settle(m, &after);
    leat_mutex_unlock(&all->mutex);
  }
  run_chains(all, ready);
  leat_aftermath_do(all, &after);
}

// ---- Taking part --------------------------------------------------------------------------------

static leat_status_t cancelled_status(void) {
  return leat_make_status(LEAT_CANCELLED, "The collective was cancelled");
}

// A leat_cancel_fn_t of a member, which may have left its round meanwhile or not have joined yet.
static void on_cancel(void* data) {
  leat_member_t* m = data;
  leat_collectives_t* all = m->all;
  leat_aftermath_t after = {0};
  leat_mutex_lock(&all->mutex);
  m->cancelled = true;
  if (m->round) leat_round_fail(all, m->round, cancelled_status(), &after);
  leat_mutex_unlock(&all->mutex);
  leat_aftermath_do(all, &after);
}

static leat_status_t make_member(leat_kernel_context_t* c, const leat_collective_call_t* call,
                                 leat_kernel_done_fn_t done, leat_member_t** out_member) {
  leat_collectives_t* all = leat_resource_manager_collectives(c->services->resources);
  *out_member = NULL;
  if (!all) return leat_kernel_error(c, LEAT_FAILED_PRECONDITION, "there are no collectives here");
  LEAT_DCHECK(call->group_size > 0 && call->shape);
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
static leat_status_t join(leat_member_t* m, leat_round_t** out_complete, leat_aftermath_t* after) {
  leat_collectives_t* all = m->all;
  const leat_kernel_context_t* c = m->context;
  const leat_round_t like = {.step_id = c->services->container_step_id,
                             .group_key = m->call.group_key,
                             .instance_key = m->call.instance_key,
                             .frame_id = c->frame_id,
                             .iteration = c->iteration};
  leat_round_t* round;
  if (m->cancelled) return cancelled_status();
  LEAT_RETURN_IF_ERROR(leat_step_check_open(all, like.step_id));
  LEAT_RETURN_IF_ERROR(leat_round_find(all, &like, &round));
  if (round->status) return leat_status_clone(round->status);
  leat_status_t status = round->members ? leat_round_check_member(round, m) : leat_ok_status();
  leat_round_add(round, m);
  if (!status) status = leat_deadline_add(m);
  if (!status && all->wire) {
    status = LEAT_ALLOCATE(all->allocator, 1, &m->question);
    if (!status) *m->question = (leat_collective_question_t){all, m};
  }
  const bool is_complete = !status && !all->wire && round->joined == m->call.group_size;
  if (is_complete) status = leat_round_check(round);
  if (!all->wire && (status || is_complete)) leat_round_close(all, round);
  if (status) {
    leat_round_fail(all, round, status, after);
  } else if (is_complete) {
    for (leat_member_t* other = round->members; other; other = other->next) other->waits = false;
    *out_complete = round;
  }
  return leat_ok_status();
}

// Asks the wire for the group, and lets go of the member.
static void ask(leat_member_t* m, leat_collective_question_t* question) {
  leat_collectives_t* all = m->all;
  const leat_kernel_context_t* c = m->context;
  leat_aftermath_t after = {0};
  all->wire->resolve(all->wire, c->kernel->device->name, c->kernel->node_name, &m->call, resolved,
                     question);
  leat_mutex_lock(&all->mutex);
  leat_member_settle(m, &after);
  leat_mutex_unlock(&all->mutex);
  leat_aftermath_do(all, &after);
}

void leat_collective_start(leat_kernel_context_t* context, const leat_collective_call_t* call,
                           leat_kernel_done_fn_t done) {
  leat_member_t* m;
  leat_aftermath_t after = {0};
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
  status = join(m, &complete, &after);
  leat_collective_question_t* question = !status && m->round ? m->question : NULL;
  if (question) ++m->pending;  // so that the member does not end while it asks
  leat_mutex_unlock(&all->mutex);
  if (status) {
    m->status = status;
    finish(m);
  }
  leat_aftermath_do(all, &after);
  if (question) ask(m, question);
  if (complete) start_round(complete);
}

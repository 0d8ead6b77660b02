// The side of rounds that other processes see. Each half of an exchange finds the other by a text
// key, which is TensorFlow's:
//
//   group:instance:frame:iteration:pass:chunk:rank     along a ring
//   group:instance:frame:iteration:tree:source:target  down a tree
//   group:instance:frame:iteration source target       all to all, without the blanks
//
// The last one does not tell where the iteration ends and a rank begins, so it is never read: a
// request is compared with the keys of the offers from the device that it names.
//
// A process that takes a chunk asks the one that offers it. So an offer to another process waits in
// the round for a request, and a chain that takes from one makes a request and goes on with the
// answer. Bytes that come in are merged from aligned memory, to which they are copied unless they
// came aligned.
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "kernel/collective_round.h"

#define KEY_ROOM 120
#define KEY_NUMBERS 7
#define ALL_TO_ALL_NUMBERS 4
#define ALIGNMENT 64  // of what kernels merge

// ---- Keys ---------------------------------------------------------------------------------------

static size_t print_key(const leat_round_t* round, const leat_hop_t* hop,
                        leat_collective_kind_t kind, char key[KEY_ROOM]) {
  int size = snprintf(key, KEY_ROOM, "%d:%d:%" PRIu64 ":%" PRId64, (int)round->group_key,
                      (int)round->instance_key, round->frame_id, round->iteration);
  char* end = key + size;
  const size_t room = KEY_ROOM - (size_t)size;
  const leat_hop_tag_t tag = hop->tag;
  if (kind == LEAT_COLLECTIVE_ALL_TO_ALL) {
    size += snprintf(end, room, "%d%d", (int)tag.a, (int)tag.b);
  } else {
    size += snprintf(end, room, ":%d:%d:%d", (int)tag.a, (int)tag.b, (int)tag.c);
  }
  return (size_t)size;
}

// Reads a number and the ':' behind it, if there is one.
static bool read_number(leat_string_view_t* inout_text, uint64_t* out_number) {
  size_t at = inout_text->size && inout_text->data[0] == '-', begin = at;
  uint64_t number = 0;
  for (; at < inout_text->size && inout_text->data[at] != ':'; ++at) {
    char digit = inout_text->data[at];
    if (digit < '0' || digit > '9' || at - begin > 19) return false;
    number = number * 10 + (uint64_t)(digit - '0');
  }
  if (at == begin) return false;
  *out_number = begin ? 0 - number : number;
  at += at < inout_text->size;
  *inout_text = leat_string_view_make(inout_text->data + at, inout_text->size - at);
  return true;
}

// |*out_is_joined| says that it is a key of an all-to-all, which has neither iteration nor tag.
static bool read_key(leat_string_view_t key, leat_round_t* out_round, leat_hop_tag_t* out_tag,
                     bool* out_is_joined) {
  uint64_t numbers[KEY_NUMBERS] = {0};
  int count = 0;
  while (key.size > 0 && count < KEY_NUMBERS && read_number(&key, &numbers[count])) ++count;
  *out_is_joined = count == ALL_TO_ALL_NUMBERS;
  if (key.size > 0 || (count != KEY_NUMBERS && !*out_is_joined)) return false;
  *out_round = (leat_round_t){.group_key = (int32_t)numbers[0],
                              .instance_key = (int32_t)numbers[1],
                              .frame_id = numbers[2],
                              .iteration = (int64_t)numbers[3]};
  *out_tag = (leat_hop_tag_t){(int32_t)numbers[4], (int32_t)numbers[5], (int32_t)numbers[6]};
  return numbers[4] < 1 << 15 && numbers[5] < 1 << 24 && numbers[6] < 1 << 24;
}

// ---- Steps that have ended ----------------------------------------------------------------------

static leat_ended_step_t* find_ended(const leat_collectives_t* all, int64_t step_id) {
  for (size_t i = 0; all->wire && i < LEAT_ENDED_STEPS; ++i) {
    if (all->ended[i].step_id == step_id) return &all->ended[i];
  }
  return NULL;
}

leat_status_t leat_step_check_open(const leat_collectives_t* all, int64_t step_id) {
  const leat_ended_step_t* ended = find_ended(all, step_id);
  return ended ? leat_status_clone(ended->status) : leat_ok_status();
}

// Remembers the step in place of the oldest one. What was first said of it stays.
static void remember_step(leat_collectives_t* all, int64_t step_id, leat_status_t status) {
  if (!step_id || find_ended(all, step_id)) return;
  leat_ended_step_t* place = &all->ended[all->next_ended++ % LEAT_ENDED_STEPS];
  leat_status_free(place->status);
  *place = (leat_ended_step_t){step_id, leat_status_clone(status)};
}

static bool is_of_step(const leat_round_t* round, int64_t step_id) {
  return step_id == 0 || round->step_id == step_id;
}

// Answers the requests for an all-to-all of the step, or of any step, with |status|.
static void fail_requests_of_step(leat_collectives_t* all, int64_t step_id, leat_status_t status,
                                  leat_aftermath_t* after) {
  for (leat_collective_request_t** place = &all->requests; *place;) {
    leat_collective_request_t* request = *place;
    if (step_id && request->step_id != step_id) {
      place = &request->next;
      continue;
    }
    *place = request->next;
    request->status = leat_status_clone(status);
    request->next = after->requests;
    after->requests = request;
  }
}

void leat_collectives_forget(leat_collectives_t* all, int64_t step_id, leat_status_t status) {
  leat_aftermath_t after = {0};
  leat_mutex_lock(&all->mutex);
  remember_step(all, step_id, status);
  for (leat_round_t *round = all->rounds, *next; round; round = next) {
    next = round->next;
    if (!is_of_step(round, step_id)) continue;
    leat_round_close(all, round);
    const bool is_empty = round->live == 0;  // else it ends with its last member
    leat_round_fail(all, round, leat_status_clone(status), &after);
    if (is_empty) leat_round_free(all, round);
  }
  fail_requests_of_step(all, step_id, status, &after);
  leat_mutex_unlock(&all->mutex);
  leat_status_free(status);
  leat_aftermath_do(all, &after);
}

void leat_collectives_forget_step(leat_collectives_t* all, int64_t step_id) {
  if (!all->wire || !step_id) return;
  leat_collectives_forget(all, step_id, leat_make_status(LEAT_ABORTED, "the step is over"));
}

// Rounds without members stay, for those who still come, until this process's own step is over.
void leat_collectives_fail_step(leat_collectives_t* all, int64_t step_id, leat_status_t status) {
  leat_aftermath_t after = {0};
  leat_mutex_lock(&all->mutex);
  remember_step(all, step_id, status);
  for (leat_round_t* round = all->rounds; round; round = round->next) {
    if (round->step_id != step_id) continue;
    leat_round_fail(all, round, leat_status_clone(status), &after);
  }
  fail_requests_of_step(all, step_id, status, &after);
  leat_mutex_unlock(&all->mutex);
  leat_status_free(status);
  leat_aftermath_do(all, &after);
}

static bool has_task(const leat_round_t* round, leat_string_view_t task) {
  for (const leat_member_t* m = round->members; m; m = m->next) {
    for (int32_t i = 0; m->members && i < m->members->size; ++i) {
      const leat_string_view_t device = m->members->devices[i];
      if (leat_string_view_starts_with(device, task) && device.size > task.size &&
          device.data[task.size] == '/') {
        return true;
      }
    }
  }
  return false;
}

void leat_collectives_lose(leat_collectives_t* all, leat_string_view_t task,
                           leat_status_t status) {
  leat_aftermath_t after = {0};
  leat_mutex_lock(&all->mutex);
  for (leat_round_t* round = all->rounds; round; round = round->next) {
    if (has_task(round, task)) leat_round_fail(all, round, leat_status_clone(status), &after);
  }
  leat_mutex_unlock(&all->mutex);
  leat_status_free(status);
  leat_aftermath_do(all, &after);
}

// ---- Chunks that others take --------------------------------------------------------------------

// Leaves the request in the round until the chunk is offered. The mutex is held.
static leat_status_t add_request(leat_collectives_t* all, leat_round_t* round, leat_hop_tag_t tag,
                                 leat_collective_chunk_fn_t fn, void* data) {
  leat_collective_request_t* request;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(all->allocator, 1, &request));
  *request = (leat_collective_request_t){
      .hop = {.kind = LEAT_HOP_TAKE, .tag = tag, .is_remote = true}, .fn = fn, .data = data};
  leat_status_t status = leat_word_map_set(&round->hops, leat_hop_tag_word(tag),
                                           (uint64_t)(uintptr_t)&request->hop);
  if (status) leat_allocator_free(all->allocator, request);
  return status;
}

// Finds the offer, or leaves a request. The mutex is held.
static leat_status_t find_offer(leat_collectives_t* all, const leat_round_t* like,
                                leat_hop_tag_t tag, leat_collective_chunk_fn_t fn, void* data,
                                leat_hop_t** out_offer) {
  leat_round_t* round;
  uint64_t found;
  LEAT_RETURN_IF_ERROR(leat_round_find(all, like, &round));
  if (round->status) return leat_status_clone(round->status);
  if (!leat_word_map_get(&round->hops, leat_hop_tag_word(tag), &found)) {
    return add_request(all, round, tag, fn, data);
  }
  leat_hop_t* other = (leat_hop_t*)(uintptr_t)found;
  if (other->kind != LEAT_HOP_OFFER) {
    return leat_make_status(LEAT_INTERNAL, "Second consumer arrived for a chunk of instance %d",
                            (int)like->instance_key);
  }
  leat_word_map_erase(&round->hops, leat_hop_tag_word(tag));
  *out_offer = other;
  return leat_ok_status();
}

// ---- Chunks of an all-to-all --------------------------------------------------------------------

static bool is_same_collective(const leat_collective_request_t* request,
                               const leat_round_t* round) {
  return request->step_id == round->step_id && request->group_key == round->group_key &&
         request->instance_key == round->instance_key && request->frame_id == round->frame_id;
}

// Whether |request| asks for what |hop| offers.
static bool fits(const leat_collective_request_t* request, const leat_hop_t* hop) {
  const leat_member_t* m = hop->chain->member;
  char key[KEY_ROOM];
  if (!is_same_collective(request, m->round) ||
      !leat_string_view_equal(request->source, m->context->kernel->device->name)) {
    return false;
  }
  const size_t size = print_key(m->round, hop, LEAT_COLLECTIVE_ALL_TO_ALL, key);
  return leat_string_view_equal(request->key, leat_string_view_make(key, size));
}

leat_hop_t* leat_collective_take_request(leat_collectives_t* all, const leat_hop_t* hop) {
  leat_collective_request_t** place = &all->requests;
  while (*place && !fits(*place, hop)) place = &(*place)->next;
  leat_collective_request_t* request = *place;
  if (!request) return NULL;
  *place = request->next;
  return &request->hop;
}

void leat_collective_fail_requests(leat_collectives_t* all, const leat_round_t* round,
                                   leat_aftermath_t* after) {
  for (leat_collective_request_t** place = &all->requests; *place;) {
    leat_collective_request_t* request = *place;
    if (!is_same_collective(request, round)) {
      place = &request->next;
      continue;
    }
    *place = request->next;
    request->status = leat_status_clone(round->status);
    request->next = after->requests;
    after->requests = request;
  }
}

// Looks for the offer in the rounds of the collective, of which a loop may have several. A round
// that has failed answers for all of them.
static leat_status_t search_offer(leat_collectives_t* all,
                                  const leat_collective_request_t* request,
                                  leat_hop_t** out_offer) {
  for (leat_round_t* round = all->rounds; round; round = round->next) {
    if (!is_same_collective(request, round)) continue;
    if (round->status) return leat_status_clone(round->status);
    for (size_t i = 0; i < round->hops.capacity; ++i) {
      if (!round->hops.used[i]) continue;
      leat_hop_t* hop = (leat_hop_t*)(uintptr_t)round->hops.values[i];
      if (hop->kind != LEAT_HOP_OFFER || !hop->is_remote || !fits(request, hop)) continue;
      leat_word_map_erase(&round->hops, leat_hop_tag_word(hop->tag));
      *out_offer = hop;
      return leat_ok_status();
    }
  }
  return leat_ok_status();
}

// Finds the offer, or leaves a request. The mutex is held.
static leat_status_t find_joined_offer(leat_collectives_t* all, const leat_round_t* like,
                                       leat_string_view_t key, leat_string_view_t source,
                                       leat_collective_chunk_fn_t fn, void* data,
                                       leat_hop_t** out_offer) {
  leat_collective_request_t* request;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      all->allocator, sizeof *request + key.size + source.size, (void**)&request));
  char* texts = (char*)(request + 1);
  memcpy(texts, key.data, key.size);
  memcpy(texts + key.size, source.data, source.size);
  *request = (leat_collective_request_t){
      .hop = {.kind = LEAT_HOP_TAKE, .is_remote = true},
      .fn = fn,
      .data = data,
      .step_id = like->step_id,
      .group_key = like->group_key,
      .instance_key = like->instance_key,
      .frame_id = like->frame_id,
      .key = leat_string_view_make(texts, key.size),
      .source = leat_string_view_make(texts + key.size, source.size)};
  leat_status_t status = search_offer(all, request, out_offer);
  if (status || *out_offer) {
    leat_allocator_free(all->allocator, request);
    return status;
  }
  request->next = all->requests;
  all->requests = request;
  return leat_ok_status();
}

void leat_collectives_take(leat_collectives_t* all, int64_t step_id, leat_string_view_t key,
                           leat_string_view_t source, leat_collective_chunk_fn_t fn, void* data) {
  leat_round_t like;
  leat_hop_tag_t tag;
  leat_hop_t* offer = NULL;
  bool is_joined;
  if (!read_key(key, &like, &tag, &is_joined)) {
    fn(data, leat_make_status(LEAT_INVALID_ARGUMENT, "'%.*s' is no key of a chunk",
                              (int)LEAT_MIN(key.size, 160), key.data), LEAT_SV(""));
    return;
  }
  like.step_id = step_id;
  leat_mutex_lock(&all->mutex);
  leat_status_t status = leat_step_check_open(all, step_id);
  if (!status) {
    status = is_joined ? find_joined_offer(all, &like, key, source, fn, data, &offer)
                       : find_offer(all, &like, tag, fn, data, &offer);
  }
  leat_mutex_unlock(&all->mutex);
  if (status) fn(data, status, LEAT_SV(""));
  if (!offer) return;
  leat_aftermath_t after = {0};
  leat_member_t* m = offer->chain->member;
  const size_t bytes = (size_t)offer->chain->count * leat_dtype_size(m->call.dtype);
  fn(data, leat_ok_status(), leat_string_view_make(offer->chain->bytes, bytes));
  leat_mutex_lock(&all->mutex);
  leat_member_settle(m, &after);
  leat_mutex_unlock(&all->mutex);
  leat_aftermath_do(all, &after);
}

void leat_member_expect(leat_member_t* m, bool begins) {
  if (!m->members || m->call.kind != LEAT_COLLECTIVE_BROADCAST || m->expects == begins) return;
  leat_collective_wire_t* wire = m->all->wire;
  const leat_hop_t* end = m->program.chain_count ? m->program.chains[0].end : m->program.hops;
  m->expects = begins;
  for (const leat_hop_t* hop = m->program.hops; hop != end; ++hop) {
    if (hop->kind != LEAT_HOP_OFFER || !hop->is_remote) continue;
    wire->expect(wire, m->members->devices[hop->peer], begins);
  }
}

// ---- Chunks of others ---------------------------------------------------------------------------

void leat_collective_fetch_release(leat_collective_fetch_t* fetch) {
  if (!leat_reference_count_release(&fetch->references)) return;
  if (fetch->call) fetch->all->wire->free(fetch->call);
  leat_allocator_free(fetch->all->allocator, fetch);
}

// Does the work of the chain's hop with the bytes that came.
static leat_status_t use_bytes(leat_chain_t* chain, leat_string_view_t bytes) {
  const leat_member_t* m = chain->member;
  if (bytes.size != (size_t)chain->count * leat_dtype_size(m->call.dtype)) {
    return leat_make_status(LEAT_INTERNAL, "a chunk came with %zu bytes, must have %lld elements",
                            bytes.size, (long long)chain->count);
  }
  leat_chain_t source = {.bytes = (char*)(uintptr_t)bytes.data, .count = chain->count};
  void* copy = NULL;
  if (chain->next->kind == LEAT_HOP_MERGE && (uintptr_t)bytes.data % ALIGNMENT != 0) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(m->all->allocator, ALIGNMENT,
                                                               bytes.size, &copy));
    memcpy(copy, bytes.data, bytes.size);
    source.bytes = copy;
  }
  leat_hop_t hop = {.chain = &source};
  chain->source = &hop;
  leat_collective_work(chain, &m->call);
  chain->source = NULL;
  leat_allocator_free(m->all->allocator, copy);
  return leat_ok_status();
}

// A leat_collective_chunk_fn_t.
static void fetched(void* data, leat_status_t status, leat_string_view_t bytes) {
  leat_collective_fetch_t* fetch = data;
  leat_collectives_t* all = fetch->all;
  leat_chain_t* chain = fetch->chain;
  leat_member_t* m = chain->member;
  leat_aftermath_t after = {0};
  if (!status) status = use_bytes(chain, bytes);
  leat_mutex_lock(&all->mutex);
  chain->fetch = NULL;
  ++chain->next;
  if (status) leat_round_fail(all, m->round, status, &after);
  leat_mutex_unlock(&all->mutex);
  leat_collective_fetch_release(fetch);
  leat_aftermath_do(all, &after);
  leat_collective_run_chain(chain);  // which ends where the round has failed
}

void leat_collective_fetch_start(leat_chain_t* chain) {
  leat_member_t* m = chain->member;
  leat_collectives_t* all = m->all;
  leat_collective_fetch_t* fetch;
  leat_aftermath_t after = {0};
  leat_status_t status = LEAT_ALLOCATE(all->allocator, 1, &fetch);
  leat_mutex_lock(&all->mutex);
  if (status) leat_round_fail(all, m->round, status, &after);
  const bool goes = !m->round->status;
  if (!status && goes) {
    *fetch = (leat_collective_fetch_t){.references = 2, .all = all, .chain = chain};
    chain->fetch = fetch;
  }
  char key[KEY_ROOM];
  const size_t key_size = print_key(m->round, chain->next, m->call.kind, key);
  if (!goes) leat_member_settle(m, &after);
  leat_mutex_unlock(&all->mutex);
  if (!goes) {
    if (!status) leat_allocator_free(all->allocator, fetch);
    leat_aftermath_do(all, &after);
    return;
  }
  const int32_t peer = chain->next->peer;
  const leat_collective_chunk_t chunk = {
      .step_id = m->context->services->container_step_id,
      .key = leat_string_view_make(key, key_size),
      .source = m->members->devices[peer],
      .target = m->context->kernel->device->name,
      .source_incarnation = m->members->incarnations[peer],
      .size_bytes = (size_t)chain->count * leat_dtype_size(m->call.dtype)};
  all->wire->fetch(all->wire, &chunk, fetched, fetch, &fetch->call);
  leat_mutex_lock(&all->mutex);
  fetch->has_call = true;
  const bool is_cancelled = fetch->is_cancelled;
  leat_mutex_unlock(&all->mutex);
  if (is_cancelled) all->wire->cancel(fetch->call);
  leat_collective_fetch_release(fetch);
}

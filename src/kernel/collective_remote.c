// The side of rounds that other processes see. Each half of an exchange finds the other by a text
// key, which is TensorFlow's:
//
//   group:instance:frame:iteration:pass:chunk:rank     along a ring
//   group:instance:frame:iteration:tree:source:target  down a tree
//   group:instance:frame:iteration source target       all to all, without the blanks
//
// In the last one a rank has one digit, since nobody could read it otherwise.
//
// A process that takes a chunk asks the one that offers it. So an offer to another process waits in
// the round for a request, and a chain that takes from one makes a request and goes on with the
// answer. Bytes that come in are merged from aligned memory.
#include <inttypes.h>
#include <stdio.h>

#include "base/checked.h"
#include "kernel/collective_round.h"

#define KEY_ROOM 120
#define KEY_NUMBERS 7
#define ALL_TO_ALL_NUMBERS 4

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

static bool read_key(leat_string_view_t key, leat_round_t* out_round, leat_hop_tag_t* out_tag) {
  uint64_t numbers[KEY_NUMBERS] = {0};
  int count = 0;
  while (key.size > 0 && count < KEY_NUMBERS && read_number(&key, &numbers[count])) ++count;
  if (key.size > 0 || (count != KEY_NUMBERS && count != ALL_TO_ALL_NUMBERS)) return false;
  if (count == ALL_TO_ALL_NUMBERS) {
    numbers[5] = numbers[3] % 10;
    numbers[4] = numbers[3] / 10 % 10;
    numbers[3] /= 100;
  }
  *out_round = (leat_round_t){.group_key = (int32_t)numbers[0],
                              .instance_key = (int32_t)numbers[1],
                              .frame_id = numbers[2],
                              .iteration = (int64_t)numbers[3]};
  *out_tag = (leat_hop_tag_t){(int32_t)numbers[4], (int32_t)numbers[5], (int32_t)numbers[6]};
  return numbers[4] < 1 << 15 && numbers[5] < 1 << 24 && numbers[6] < 1 << 24;
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
  *out_offer = NULL;
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

void leat_collectives_take(leat_collectives_t* all, int64_t step_id, leat_string_view_t key,
                           leat_collective_chunk_fn_t fn, void* data) {
  leat_round_t like;
  leat_hop_tag_t tag;
  leat_hop_t* offer = NULL;
  if (!read_key(key, &like, &tag)) {
    fn(data, leat_make_status(LEAT_INVALID_ARGUMENT, "'%.*s' is no key of a chunk",
                              LEAT_SV_ARG(key)), LEAT_SV(""));
    return;
  }
  like.step_id = step_id;
  leat_mutex_lock(&all->mutex);
  leat_status_t status = find_offer(all, &like, tag, fn, data, &offer);
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

void leat_collectives_forget(leat_collectives_t* all, int64_t step_id, leat_status_t status) {
  leat_aftermath_t after = {0};
  leat_mutex_lock(&all->mutex);
  for (leat_round_t *round = all->rounds, *next; round; round = next) {
    next = round->next;
    if (step_id && round->step_id != step_id) continue;
    leat_round_close(all, round);
    const bool is_empty = round->live == 0;  // else it ends with its last member
    leat_round_fail(all, round, leat_status_clone(status), &after);
    if (is_empty) leat_round_free(all, round);
  }
  leat_mutex_unlock(&all->mutex);
  leat_status_free(status);
  leat_aftermath_do(all, &after);
}

void leat_collectives_forget_step(leat_collectives_t* all, int64_t step_id) {
  if (!all->wire || !step_id) return;
  leat_collectives_forget(all, step_id, leat_make_status(LEAT_ABORTED, "the step is over"));
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
  if (chain->next->kind == LEAT_HOP_MERGE) {
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(m->all->allocator, 64, bytes.size,
                                                               &copy));
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

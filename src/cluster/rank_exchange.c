// The exchange of addresses between the processes that mpirun started. MPI tells a process its
// number and how many there are, but not where the others run: that depends on the host list and on
// how ranks are mapped to it, which only the launcher knows. So each process must tell the others.
// The MPI library and PMIx could carry that, but each is a library of one vendor, with a version
// that must fit the launcher's; a folder that all see is there wherever mpirun finds the program.
//
//   rank 1 ── FOLDER/leat-RUN.1 ──┐                      ┌─▶ rank 1
//   rank 2 ── FOLDER/leat-RUN.2 ──┼─▶ rank 0 ── FOLDER/leat-RUN ──┼─▶ rank 2
//
// Rank 0 gathers the files of the others, publishes one with all addresses, a line for each rank,
// and removes theirs. Files appear whole, by a rename. What is left of a run is that one file. It
// is named after the run, which the launcher numbers anew each time, so that a later run does not
// read the addresses of an earlier one. Waiting has an end, since a rank may have died before it
// came here.
#include "cluster/rank_exchange.h"

#include "base/clock.h"
#include "base/file_system.h"
#include "base/string_builder.h"

#define POLL_NS INT64_C(20000000)

// The path of a rank's file, and with a rank below 0 of the one with all addresses.
static leat_status_t make_path(const leat_rank_exchange_t* exchange, int rank, leat_arena_t* arena,
                               const char** out_path) {
  leat_string_view_t run, path;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, exchange->run, &run));
  for (size_t i = 0; i < run.size; ++i) {
    char* c = (char*)run.data + i;
    if (*c == '/' || (unsigned char)*c <= ' ') *c = '_';
  }
  LEAT_RETURN_IF_ERROR(
      rank < 0 ? leat_arena_print(arena, &path, "%.*s/leat-%.*s", LEAT_SV_ARG(exchange->folder),
                                  LEAT_SV_ARG(run))
               : leat_arena_print(arena, &path, "%.*s/leat-%.*s.%d", LEAT_SV_ARG(exchange->folder),
                                  LEAT_SV_ARG(run), rank));
  *out_path = path.data;
  return leat_ok_status();
}

// Waits for a file, and reads it into |arena|.
static leat_status_t wait_for_file(const char* path, int64_t deadline_ns, const char* whose,
                                   int rank, leat_arena_t* arena, leat_string_view_t* out_text) {
  char* text;
  size_t size;
  for (;;) {
    leat_status_t status = leat_file_read_all(leat_file_system_default(), path,
                                              leat_allocator_system(), &text, &size);
    if (!status) break;
    if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
    leat_status_free(status);
    if (leat_clock_now_ns() >= deadline_ns) {
      return leat_make_status(LEAT_DEADLINE_EXCEEDED,
                              "Exchanging addresses failed: '%s' is not there, must come from %s "
                              "%d in time (timeout=SECONDS)",
                              path, whose, rank);
    }
    leat_clock_sleep_ns(POLL_NS);
  }
  leat_status_t status =
      leat_arena_copy_string(arena, leat_string_view_make(text, size), out_text);
  leat_allocator_free(leat_allocator_system(), text);
  return status;
}

// Rank 0: gathers the others' addresses and publishes all.
static leat_status_t gather(const leat_rank_exchange_t* exchange, int64_t deadline_ns,
                            leat_arena_t* arena, leat_string_view_t* out_addresses) {
  leat_file_system_t* files = leat_file_system_default();
  leat_string_builder_t all;
  const char* path;
  leat_string_builder_initialize(leat_allocator_system(), &all);
  leat_status_t status = leat_ok_status();
  out_addresses[0] = exchange->address;
  for (int i = 0; i < exchange->size && !status; ++i) {
    if (i > 0) status = make_path(exchange, i, arena, &path);
    if (!status && i > 0) {
      status = wait_for_file(path, deadline_ns, "rank", i, arena, &out_addresses[i]);
    }
    if (status) break;
    leat_string_builder_append(&all, out_addresses[i]);
    leat_string_builder_append_char(&all, '\n');
  }
  if (!status) status = leat_status_clone(all.status);
  if (!status) status = make_path(exchange, -1, arena, &path);
  if (!status) status = leat_file_write_atomically(files, path, all.data, all.size);
  leat_string_builder_deinitialize(&all);
  for (int i = 1; i < exchange->size && !status; ++i) {
    status = make_path(exchange, i, arena, &path);
    if (!status) status = files->vtable->remove(files, path);
  }
  return status;
}

// Another rank: tells its address and waits for all.
static leat_status_t tell(const leat_rank_exchange_t* exchange, int64_t deadline_ns,
                          leat_arena_t* arena, leat_string_view_t* out_addresses) {
  const char* path;
  leat_string_view_t all;
  LEAT_RETURN_IF_ERROR(make_path(exchange, exchange->rank, arena, &path));
  LEAT_RETURN_IF_ERROR(leat_file_write_atomically(leat_file_system_default(), path,
                                                  exchange->address.data, exchange->address.size));
  LEAT_RETURN_IF_ERROR(make_path(exchange, -1, arena, &path));
  LEAT_RETURN_IF_ERROR(wait_for_file(path, deadline_ns, "rank", 0, arena, &all));
  for (int i = 0; i < exchange->size; ++i) {
    if (!leat_string_view_take_line(&all, &out_addresses[i])) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Exchanging addresses failed: '%s' has %d lines, must have one for "
                              "each of %d ranks (another run's? run=NAME tells them apart)",
                              path, i, exchange->size);
    }
  }
  if (leat_string_view_equal(out_addresses[exchange->rank], exchange->address)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Exchanging addresses failed: '%s' has '%.*s' for rank %d, must have "
                          "'%.*s' (another run's? run=NAME tells them apart)",
                          path, LEAT_SV_ARG(out_addresses[exchange->rank]), exchange->rank,
                          LEAT_SV_ARG(exchange->address));
}

leat_status_t leat_rank_exchange(const leat_rank_exchange_t* exchange, leat_arena_t* arena,
                                 leat_string_view_t* out_addresses) {
  leat_string_view_t folder;
  const int64_t deadline_ns = leat_clock_deadline_after_ms(exchange->timeout_ms);
  LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &folder, "%.*s", LEAT_SV_ARG(exchange->folder)));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(leat_file_system_default(), folder.data));
  return exchange->rank == 0 ? gather(exchange, deadline_ns, arena, out_addresses)
                             : tell(exchange, deadline_ns, arena, out_addresses);
}

// Sources of clusters, which come from the command line and the environment: each is read or
// refused. The first line is the source, and what follows stands in the variables that it reads.
// Sources that touch files or wait for other processes are left out.
#include <stdlib.h>
#include <string.h>

#include "cluster/cluster_source.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const kVariables[] = {"TF_CONFIG", "SLURM_STEP_NODELIST",
                                           "SLURM_STEP_TASKS_PER_NODE", "SLURM_DISTRIBUTION"};
  char* text = strndup((const char*)data, size);
  char* rest = text + strcspn(text, "\n");
  if (*rest) *rest++ = 0;
  const char* config = rest;
  for (size_t i = 0; i < sizeof kVariables / sizeof *kVariables; ++i) {
    // Lists of hosts are lines of their own; TF_CONFIG is all of it.
    char* end = rest + strcspn(rest, "\n");
    const char kept = *end;
    if (i > 0) *end = 0;
    setenv(kVariables[i], i == 0 ? config : rest, 1);
    if (i > 0) rest = end + (kept != 0);
  }
  leat_cluster_place_t place;
  const bool is_left_out = !strncmp(text, "file", 4) || !strncmp(text, "mpi", 3);
  leat_status_t status =
      is_left_out ? leat_ok_status()
                  : leat_cluster_place_initialize(leat_string_view_from(text), &place);
  if (!status && !is_left_out) leat_cluster_place_deinitialize(&place);
  leat_status_free(status);
  free(text);
  return 0;
}

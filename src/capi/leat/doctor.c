// leat_doctor_json: what this machine and this library have (versions, number of ops and kernels,
// processor, caches, optional modules) and, on request, what they reach (doctor_measure.c), as one
// JSON object. The command `leat doctor` prints it. Bug reports carry it, so that it names
// everything that decides which code runs: the instruction set, the matrix unit, and the versions
// of the modules that were found. A module that is missing is null in the object and no error.
#include "base/cpu.h"
#include "base/host.h"
#include "capi/handles.h"
#include "capi/leat/doctor.h"
#include "device/cpu/module.h"
#include "formats/record/compression.h"
#include "formats/wire/json.h"
#include "kernel/registry.h"
#include "leat/inspect.h"

static void append_text(leat_string_builder_t* out, const char* name, const char* value) {
  leat_string_builder_print(out, "  \"%s\": ", name);
  leat_json_append_string(out, leat_string_view_from(value));
  leat_string_builder_append(out, LEAT_SV(",\n"));
}

static void append_number(leat_string_builder_t* out, const char* name, double value) {
  leat_string_builder_print(out, "  \"%s\": ", name);
  leat_json_append_number(out, value);
  leat_string_builder_append(out, LEAT_SV(",\n"));
}

static leat_status_t count_row(void* data, const leat_kernel_row_t* row) {
  ++*(int*)data;
  return leat_ok_status();
}

static leat_status_t append_library(leat_string_builder_t* out) {
  const leat_runtime_t* runtime = NULL;
  int kernels = 0;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_registry_each(runtime->kernels, LEAT_SV(""), count_row, &kernels));
  append_text(out, "version", leat_version());
  append_text(out, "tensorflow", TF_Version());
  append_number(out, "ops", leat_op_registry_count(runtime->ops));
  append_number(out, "kernels", kernels);
  return leat_ok_status();
}

static void append_machine(leat_string_builder_t* out) {
  char name[256];
  leat_host_name(name, sizeof name);
  append_text(out, "host", name);
  leat_cpu_name(name, sizeof name);
  append_text(out, "cpu", name);
  append_text(out, "isa", leat_isa_name(leat_cpu_isa()));
  append_text(out, "matrix_unit", leat_cpu_has_matrix_unit() ? "amx" : "none");
  append_number(out, "cores", leat_cpu_count());
  append_number(out, "l1_bytes", (double)leat_cpu_l1_bytes());
  append_number(out, "l2_bytes", (double)leat_cpu_l2_bytes());
}

// Appends a member for a module: its version, or null where the module was not found.
static void append_module(leat_string_builder_t* out, const char* name, const char* version) {
  leat_string_builder_print(out, "\"%s\": ", name);
  if (version) {
    leat_json_append_string(out, leat_string_view_from(version));
  } else {
    leat_string_builder_append(out, LEAT_SV("null"));
  }
}

static void append_modules(leat_string_builder_t* out) {
  const leat_onednn_module_t* onednn = leat_cpu_onednn();
  const leat_zlib_module_t* zlib = leat_compression_module();
  leat_string_builder_append(out, LEAT_SV("  \"modules\": {"));
  append_module(out, "onednn", onednn ? onednn->version : NULL);
  leat_string_builder_append(out, LEAT_SV(", "));
  append_module(out, "zlib", zlib ? zlib->version : NULL);
  leat_string_builder_append(out, LEAT_SV("}"));
}

static leat_status_t append_figures(leat_string_builder_t* out) {
  leat_doctor_figures_t f = {0};
  LEAT_RETURN_IF_ERROR(leat_doctor_measure(&f));
  const struct {
    const char* name;
    double value;
  } figures[] = {
      {"peak_gflops", f.multiply_add},
      {"peak_gflops_all_cores", f.multiply_add_all},
      {"gemm_portable_gflops", f.gemm_portable},
      {"gemm_onednn_gflops", f.gemm_onednn},
      {"gemm_matrix_unit_gflops", f.gemm_matrix_unit},
      {"read_gb_per_s", f.read},
      {"read_gb_per_s_all_cores", f.read_all},
      {"copy_gb_per_s", f.copy},
      {"copy_gb_per_s_all_cores", f.copy_all},
      {"futex_wake_us", f.futex_wake_us},
      {"handover_us", f.handover_us},
      {"null_step_us", f.null_step_us},
  };
  leat_string_builder_append(out, LEAT_SV(",\n  \"measured\": {\n"));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(figures); ++i) {
    leat_string_builder_print(out, "    \"%s\": %.4g%s\n", figures[i].name, figures[i].value,
                              i + 1 < LEAT_ARRAY_SIZE(figures) ? "," : "");
  }
  leat_string_builder_append(out, LEAT_SV("  }"));
  return leat_ok_status();
}

TF_Buffer* leat_doctor_json(int measure, TF_Status* status) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_string_builder_append(&out, LEAT_SV("{\n"));
  leat_status_t result = append_library(&out);
  append_machine(&out);
  append_modules(&out);
  if (!result && measure) result = append_figures(&out);
  leat_string_builder_append(&out, LEAT_SV("\n}\n"));
  return leat_capi_buffer_return(result, &out, status);
}

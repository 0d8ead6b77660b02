// The inspection leat inspect records: prints the size of each record in a TFRecord file, or its
// content as a message in text format.
#include "inspect.h"
#include "json.h"
#include "leat/files.h"
#include "leat/inspect.h"

static void print_size(size_t index, size_t size, bool as_json) {
  if (as_json) {
    printf("{\"index\": %zu, \"bytes\": %zu}\n", index, size);
  } else {
    printf("%8zu  %zu bytes\n", index, size);
  }
}

static void print_text(const char* type, const TF_Buffer* bytes, size_t index, bool as_json,
                       TF_Status* status) {
  TF_Buffer* text = leat_message_to_text(type, bytes, status);
  if (!text) return;
  if (as_json) {
    printf("{\"index\": %zu, \"bytes\": %zu, \"text\": ", index, bytes->length);
    json_print_string(stdout, text->data, text->length);
    puts("}");
  } else {
    printf("%s# record %zu, %zu bytes%s\n", style_bold(stdout), index, bytes->length,
           style_end(stdout));
    fwrite(text->data, 1, text->length, stdout);
  }
  TF_DeleteBuffer(text);
}

static void print_records(const inspection_t* inspection, leat_records_t* records,
                          TF_Status* status) {
  size_t size, count = 0, total = 0;
  const void* data;
  while ((data = leat_records_next(records, &size, status)) || TF_GetCode(status) == TF_OK) {
    TF_Buffer bytes = {data, size, NULL};
    if (inspection->as) {
      print_text(inspection->as, &bytes, count, inspection->json, status);
      if (TF_GetCode(status) != TF_OK) return;
    } else {
      print_size(count, size, inspection->json);
    }
    ++count;
    total += size;
  }
  if (TF_GetCode(status) != TF_OUT_OF_RANGE) return;
  TF_SetStatus(status, TF_OK, "");  // the end
  if (!inspection->json && !inspection->as) printf("%zu records, %zu bytes\n", count, total);
}

int inspect_records(const inspection_t* inspection) {
  TF_Status* status = TF_NewStatus();
  leat_records_t* records =
      leat_records_open_compressed(inspection->path, inspection->compression, status);
  if (records) print_records(inspection, records, status);
  int code = EXIT_OK;
  if (TF_GetCode(status) != TF_OK) code = complain("%s", TF_Message(status));
  leat_records_close(records);
  TF_DeleteStatus(status);
  return code;
}

// The sounds of the summaries, as TensorBoard's audio plugin answers for them: which tags there
// are, the list of a tag's points, and one sound. The list names each sound by a key (blob_key.h),
// which is the address under which a page fetches the bytes. Sounds lie in the event file until
// they are asked for. The type is told from the plugin's data, and a sound whose encoding is
// unknown is sent as plain bytes, which no browser plays and none executes.
#include "board/api.h"
#include "board/blob_key.h"
#include "board/json_writer.h"

#define AUDIO_POINTS 10
#define ENCODING_FIELD 0x10  // the tag of AudioPluginData.encoding
#define ENCODING_WAV 11

static const char kWav[] = "audio/wav", kUnknown[] = "application/octet-stream";

static void print_audio_tag(board_series_t* series, leat_string_builder_t* out) {
  board_api_print_names(series, out);
  leat_string_builder_print(out, ",\"samples\":%u", board_blob_longest(series));
}

leat_status_t board_api_audio_tags(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  (void)request;
  return board_api_index(api, "audio", BOARD_CLASS_BLOB, print_audio_tag, &response->body);
}

// Of the plugin's data, whose first fields are the version and the encoding, both small numbers.
static const char* type_of(leat_string_view_t content) {
  for (size_t i = 0; i + 1 < content.size; i += 2) {
    if (content.data[i] != ENCODING_FIELD) continue;
    return content.data[i + 1] == ENCODING_WAV ? kWav : kUnknown;
  }
  return kUnknown;
}

// A content type in a query: its slash is the one character that must be escaped.
static void print_query_value(const char* text, leat_string_builder_t* out) {
  for (; *text; ++text) {
    if (*text == '/') {
      leat_string_builder_append(out, LEAT_SV("%2F"));
    } else {
      leat_string_builder_append_char(out, *text);
    }
  }
}

leat_status_t board_api_audio(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  board_run_t* run;
  board_snapshot_t snapshot;
  leat_string_view_t tag;
  int64_t sample;
  bool follows = false;
  LEAT_RETURN_IF_ERROR(board_blob_points(api, request, "audio", AUDIO_POINTS, &run, &tag, &sample,
                                         &snapshot));
  const char* type = type_of(snapshot.content);
  leat_string_builder_append_char(&response->body, '[');
  for (uint32_t i = 0; i < snapshot.count; ++i) {
    if (sample < 0 || sample >= snapshot.places[i].length) continue;
    leat_string_builder_append(&response->body, follows ? LEAT_SV(",{") : LEAT_SV("{"));
    follows = true;
    leat_string_builder_append(&response->body, LEAT_SV("\"wall_time\":"));
    board_json_float(&response->body, snapshot.wall_times[i]);
    leat_string_builder_print(
        &response->body, ",\"label\":\"\",\"step\":%lld,\"contentType\":\"%s\",\"query\":\""
        "blob_key=",
        (long long)snapshot.steps[i], type);
    board_blob_key_print("audio", leat_string_view_from(run->name), tag, snapshot.steps[i],
                         (uint32_t)sample, &response->body);
    leat_string_builder_append(&response->body, LEAT_SV("&content_type="));
    print_query_value(type, &response->body);
    leat_string_builder_append(&response->body, LEAT_SV("\"}"));
  }
  leat_string_builder_append_char(&response->body, ']');
  return leat_ok_status();
}

leat_status_t board_api_sound(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  leat_string_view_t key, type, bytes;
  if (!board_query_get(&request->query, "blob_key", &key) ||
      !board_query_get(&request->query, "content_type", &type)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "blob_key and content_type must be specified");
  }
  bool is_wav = leat_string_view_equals(type, kWav);
  if (!is_wav && !leat_string_view_equals(type, kUnknown)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Illegal mime type '%.*s'", LEAT_SV_ARG(type));
  }
  LEAT_RETURN_IF_ERROR(board_blob_key_read(api, request, "audio", key, &bytes));
  response->content_type = is_wav ? kWav : kUnknown;
  leat_string_builder_append(&response->body, bytes);
  return leat_ok_status();
}

// Builds a prompt: cc -I bindings/c/include bindings/c/examples/build.c -L target/release -ltapster
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tapster.h>

static char *call(tapster_door *door, const char *request) {
  char *response = tapster_call(door, (const uint8_t *)request, strlen(request));
  if (response == NULL || strstr(response, "\"ok\":true") == NULL) {
    fprintf(stderr, "%s\n", response ? response : "no response");
    exit(1);
  }
  return response;
}

// A program that has a JSON library reads responses with it. Handles have no escapes, and payloads end where their braces do.
static char *handle(const char *response) {
  const char *begin = strstr(response, "\"rules\":\"") + strlen("\"rules\":\"");
  size_t length = strcspn(begin, "\"");
  char *copy = malloc(length + 1);
  memcpy(copy, begin, length);
  copy[length] = '\0';
  return copy;
}

static int payload_length(const char *begin) {
  int depth = 0, in_text = 0;
  for (const char *c = begin; *c; c++) {
    if (in_text && *c == '\\') c++;
    else if (*c == '"') in_text = !in_text;
    else if (!in_text && *c == '{') depth++;
    else if (!in_text && *c == '}' && --depth == 0) return (int)(c - begin) + 1;
  }
  return 0;
}

int main(void) {
  tapster_door *door = tapster_new(NULL);
  char *opened = call(door, "{\"call\":\"open\",\"pack\":\"base\"}");
  char *rules = handle(opened);
  char request[256];
  snprintf(request, sizeof request, "{\"call\":\"build\",\"rules\":\"%s\",\"scene\":{\"message\":\"Hello.\"}}", rules);
  char *built = call(door, request);
  const char *payload = strstr(built, "\"payload\":") + strlen("\"payload\":");
  printf("tapster %s\n%.*s\n", tapster_version(), payload_length(payload), payload);
  tapster_free_text(built);
  free(rules);
  tapster_free_text(opened);
  tapster_free(door);
  return 0;
}

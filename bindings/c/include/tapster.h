// Tapster, a declarative rules engine for LLM prompts: requests of docs/reference/door.md in, responses out.
//
// All functions may be called from several threads at once, also with the same door; only `tapster_free` must be the last call
// with its door. A NULL pointer is never an error: it gives NULL, or nothing happens.
//
// This file is made from bindings/c/src/lib.rs.


#ifndef TAPSTER_H
#define TAPSTER_H

#include <stddef.h>
#include <stdint.h>

// What is opened, such as packs and files, until `tapster_free`.
typedef struct tapster_door tapster_door;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Makes a door. It finds packs by name in these folders, before the shipped ones: a text of JSON such as `["packs"]`, or NULL.
// Returns NULL if the text is not a list of texts.
//
// # Safety
// `folders` is NULL or ends with a NUL.
tapster_door *tapster_new(const char *folders);

// Answers a request, which is `length` bytes of JSON; bytes that are not JSON in UTF-8 are answered with an error. The response is a
// text of JSON that ends with a NUL, for `tapster_free_text`. NULL: an argument is NULL, or there
// is no memory, or this library has a bug.
//
// # Safety
// `door` is NULL or of `tapster_new`, and `request` is NULL or has `length` bytes.
char *tapster_call(const tapster_door *door,
                   const uint8_t *request,
                   size_t length);

// Frees a response.
//
// # Safety
// `text` is NULL or of `tapster_call`, and was not freed before.
void tapster_free_text(char *text);

// Frees a door and what it keeps. Responses stay.
//
// # Safety
// `door` is NULL or of `tapster_new`, was not freed before, and no thread is in a call with it.
void tapster_free(tapster_door *door);

// The version of the library; it is not freed.
const char *tapster_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TAPSTER_H */

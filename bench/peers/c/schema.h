/* Schemas that upb reads at run time. */

#pragma once

#include "google/protobuf/descriptor.upb.h"
#include "peer.h"
#include "upb/mem/arena.h"
#include "upb/reflection/def.h"

static inline char *read_all(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("a file is missing");
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    if (fread(bytes, 1, *length, file) != *length) fail("a file cannot be read");
    fclose(file);
    return bytes;
}

/* The definitions of a descriptor set, which stays in the arena. */
static inline upb_DefPool *definitions(const char *path, upb_Arena *arena) {
    size_t length, files;
    char *bytes = read_all(path, &length);
    google_protobuf_FileDescriptorSet *set =
        google_protobuf_FileDescriptorSet_parse(bytes, length, arena);
    if (!set) fail("no schema");
    upb_DefPool *pool = upb_DefPool_New();
    const google_protobuf_FileDescriptorProto *const *file =
        google_protobuf_FileDescriptorSet_file(set, &files);
    for (size_t at = 0; at < files; at++) {
        upb_Status status;
        upb_Status_Clear(&status);
        if (!upb_DefPool_AddFile(pool, file[at], &status)) fail(upb_Status_ErrorMessage(&status));
    }
    return pool;
}

static inline const upb_MiniTable *message(upb_DefPool *pool, const char *name) {
    const upb_MessageDef *def = upb_DefPool_FindMessageByName(pool, name);
    if (!def) fail("no such message");
    return upb_MessageDef_MiniTable(def);
}

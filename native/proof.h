/*
 * The proof that an answer is of the gate: a keyed BLAKE2b (RFC 7693) of the request, which no other request equals, and
 * of the answer, with the key of the installation.
 */
#ifndef LOCKGATE_PROOF_H
#define LOCKGATE_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_SIZE = 32, PROOF_SIZE = 32, PERSON_SIZE = 16, DIGEST_MOST = 64, BLOCK_SIZE = 128 };

struct blake2b {
    uint64_t state[8];
    uint8_t block[BLOCK_SIZE];
    size_t filled; /* bytes of the block */
    uint64_t hashed; /* bytes before the block */
    size_t size; /* bytes of the digest */
};

/* A key, which may be of no bytes; `person` says what the digest is for, and may be NULL. */
struct blake2b_key {
    const uint8_t *key;
    size_t size;
    const uint8_t *person;
};

/* Begins a digest of so many bytes, 64 at most. */
void blake2b_begin(struct blake2b *hash, size_t size, struct blake2b_key key);

void blake2b_add(struct blake2b *hash, const uint8_t *data, size_t size);

/* Ends it; the digest has as many bytes as it was begun with. */
void blake2b_end(struct blake2b *hash, uint8_t *digest);

/* Reads the installation's key. False: it is not there, or not this user's alone, or is none. */
bool key_read(const char *state, uint8_t key[KEY_SIZE]);

/* Begins the proof of all answers to a request. */
void proof_begin(struct blake2b *proof, const uint8_t key[KEY_SIZE], const uint8_t *request, size_t size);

/* Whether a frame has its proof, which stands behind it. */
bool proof_holds(const struct blake2b *begun, const uint8_t *frame, size_t size);

#endif

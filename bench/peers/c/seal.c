/* Datagrams over the loopback, sealed with ChaCha20-Poly1305 by OpenSSL or as they are.
 *
 *     seal open|key BYTES BURSTS BURST
 *
 * One socket sends BURST datagrams, the other takes them, BURSTS times. A sealed datagram has a
 * head of 16 bytes (a counter, which is its nonce), a byte before the content, and a tag of 16.
 * Prints datagrams a CPU second out and in; fails if one is lost or changed. Needs -lcrypto. */

#include <openssl/evp.h>
#include <stdint.h>

#include "loopback.h"

enum { HEAD = 16, KIND = 1, TAG = 16, ROOM = 65536 };

static EVP_CIPHER_CTX *cipher(int seals) {
    static const uint8_t key[32] = {1, 2, 3};
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    if (!cipher || !EVP_CipherInit_ex(cipher, EVP_chacha20_poly1305(), NULL, key, NULL, seals))
        fail("no cipher");
    return cipher;
}

static void set_nonce(EVP_CIPHER_CTX *cipher, uint64_t counter) {
    uint8_t nonce[12] = {0};
    memcpy(nonce + 4, &counter, 8);
    if (!EVP_CipherInit_ex(cipher, NULL, NULL, NULL, nonce, -1)) fail("no nonce");
}

int main(int count, char **words) {
    if (count != 5) fail("seal open|key BYTES BURSTS BURST");
    int is_sealed = !strcmp(words[1], "key"), bytes = atoi(words[2]), written;
    long bursts = atol(words[3]), burst = atol(words[4]);
    if (bytes < 1 || bytes > 60000) fail("how many bytes?");
    struct sockaddr_in from_address, to_address;
    int from = bound(&from_address), to = bound(&to_address);
    EVP_CIPHER_CTX *sealer = cipher(1), *opener = cipher(0);
    static uint8_t content[ROOM], out[ROOM], in[ROOM];
    uint64_t next = 0, expected = 0, sent_sum = 0, sum = 0;
    double out_s = 0, in_s = 0;
    for (long i = 0; i < bursts; i++) {
        double start = cpu_seconds();
        for (long j = 0; j < burst; j++, next++) {
            content[bytes - 1] = (uint8_t)next;
            sent_sum += (uint8_t)next;
            size_t length = bytes;
            if (is_sealed) {
                memset(out, 0, HEAD + KIND);
                out[0] = 4;
                memcpy(out + 8, &next, 8);
                memcpy(out + HEAD + KIND, content, bytes);
                set_nonce(sealer, next);
                if (!EVP_EncryptUpdate(sealer, out + HEAD, &written, out + HEAD, KIND + bytes) ||
                    !EVP_EncryptFinal_ex(sealer, out + HEAD + written, &written) ||
                    !EVP_CIPHER_CTX_ctrl(sealer, EVP_CTRL_AEAD_GET_TAG, TAG,
                                         out + HEAD + KIND + bytes))
                    fail("not sealed");
                length = HEAD + KIND + bytes + TAG;
            } else {
                memcpy(out, content, bytes);
            }
            sendto(from, out, length, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to_address,
                   sizeof to_address);
        }
        double sent = cpu_seconds();
        for (;;) {
            struct sockaddr_in sender;
            socklen_t size = sizeof sender;
            ssize_t length = recvfrom(to, in, ROOM, MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
            if (length < 0) break;
            uint8_t *last = in + length - 1;
            if (is_sealed) {
                uint64_t counter;
                memcpy(&counter, in + 8, 8);
                set_nonce(opener, counter);
                last -= TAG;
                if (!EVP_CIPHER_CTX_ctrl(opener, EVP_CTRL_AEAD_SET_TAG, TAG, last + 1) ||
                    !EVP_DecryptUpdate(opener, in + HEAD, &written, in + HEAD,
                                       (int)(last + 1 - in) - HEAD) ||
                    EVP_DecryptFinal_ex(opener, in + HEAD + written, &written) <= 0)
                    fail("not opened");
            }
            sum += *last;
            expected++;
        }
        double received = cpu_seconds();
        out_s += sent - start;
        in_s += received - sent;
    }
    if (expected != next || sum != sent_sum) fail("something was lost or changed");
    printf("%.0f %.0f\n", next / out_s, next / in_s);
    return 0;
}

/**
 * The pictures of all answers that are being made or sent. Each is in memory up to five times: as read, in base64, and in the text of
 * the answer. So they take at most 80 MiB of the 256 MB of a hosted function.
 */
const MAX_BYTES = 16 * 1024 * 1024;
/** Two answers with four pictures of the largest size. */
const MAX_BYTES_PER_OWNER = 8 * 1024 * 1024;

export type PictureSpace = ReturnType<ReturnType<typeof createPictureSpaces>>;

/** Counts the size of the pictures of each answer. */
export function createPictureSpaces() {
  const taken = new Map<string, number>();
  let total = 0;
  return (ownerId: string) => {
    let own = 0;
    const change = (bytes: number) => {
      own += bytes;
      total += bytes;
      const owners = (taken.get(ownerId) ?? 0) + bytes;
      if (owners > 0) taken.set(ownerId, owners);
      else taken.delete(ownerId);
    };
    return {
      /** False: no space is free. */
      take(bytes: number): boolean {
        if (total + bytes > MAX_BYTES || (taken.get(ownerId) ?? 0) + bytes > MAX_BYTES_PER_OWNER) return false;
        change(bytes);
        return true;
      },
      giveBack: (bytes: number) => change(-bytes),
      /** The answer has been sent. */
      end: () => change(-own),
    };
  };
}

/**
 * The pictures of all answers that are being made or sent. Each is in memory up to five times: as read, in base64, and in the text of
 * the answer. So they take at most 80 MiB of the 256 MB of a hosted function.
 */
const MAX_BYTES = 16 * 1024 * 1024;
/** Two answers with four pictures of the largest size. */
const MAX_BYTES_PER_OWNER = 8 * 1024 * 1024;

/** The size of the pictures of one answer. */
export type PictureSpace = {
  /** False: no space is free. */
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
  /** The answer has been sent. */
  end(): void;
};

export function createPictureSpaces(): (ownerId: string) => PictureSpace {
  const taken = new Map<string, number>();
  let total = 0;
  const add = (ownerId: string, bytes: number) => {
    const owners = (taken.get(ownerId) ?? 0) + bytes;
    total += bytes;
    if (owners > 0) taken.set(ownerId, owners);
    else taken.delete(ownerId);
  };
  return (ownerId) => {
    let own = 0;
    const change = (bytes: number) => {
      own += bytes;
      add(ownerId, bytes);
    };
    return {
      take(bytes) {
        if (total + bytes > MAX_BYTES || (taken.get(ownerId) ?? 0) + bytes > MAX_BYTES_PER_OWNER) return false;
        change(bytes);
        return true;
      },
      giveBack: (bytes) => change(-bytes),
      end: () => change(-own),
    };
  };
}

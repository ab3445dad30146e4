const UNITS = ["B", "KiB", "MiB", "GiB"];

/** A number of bytes as "1.4 MiB". */
export function formatSize(bytes: number): string {
  const power = Math.min(Math.floor(Math.log2(Math.max(1, bytes)) / 10), UNITS.length - 1);
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}

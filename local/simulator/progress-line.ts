/** A line of progress as the usual Python tool prints it, which clients read from `logs`: ` 25%|██▌       | 12/48 [00:03<00:09]`. */
export function progressLine(done: number, total: number, seconds: number): string {
  const share = total === 0 ? 1 : done / total;
  const bar = "█".repeat(Math.round(share * 10)).padEnd(10);
  const left = share === 0 ? "?" : clock((seconds / share) * (1 - share));
  return `${String(Math.round(share * 100)).padStart(3)}%|${bar}| ${done}/${total} [${clock(seconds)}<${left}]\n`;
}

function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${String(Math.floor(whole / 60)).padStart(2, "0")}:${String(whole % 60).padStart(2, "0")}`;
}

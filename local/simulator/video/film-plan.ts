/** How a video is cut: its size, its number of frames and how many of them are shown per second. */
export type FilmPlan = { width: number; height: number; frames: number; fps: number };

const frameBudget = 60;

/**
 * Plans a video of `seconds` (2 when not asked for). Encoding costs the same per frame, so a longer video gets fewer
 * frames per second: 24 up to 2.5 s, 12 at 5 s, 4 at 15 s.
 */
export function planFilm(seconds: number | null, size: { width: number; height: number }): FilmPlan {
  const length = seconds === null || seconds <= 0 ? 2 : Math.min(seconds, 15);
  const fps = Math.max(1, Math.min(24, Math.floor(frameBudget / length)));
  return { ...size, fps, frames: Math.round(fps * length) };
}

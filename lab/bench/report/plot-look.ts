/**
 * Tones that can be read on a light page and on a dark one, for one file is shown on both and inherits nothing from the page:
 * the ink has a contrast of about 4.3 with white and with GitHub's black.
 */
export const INK = "#747b85";
export const COLOURS = ["#3b82f6", "#e8890c", "#10a37a", "#e5484d", "#8b5cf6", "#64748b", "#0ea5b7"];
/** The part of a whisker that lies on its bar. */
export const ON_BAR = "#ffffff";
export const FONT = "system-ui, -apple-system, 'Segoe UI', sans-serif";

import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";

/** Shades 6 and 7 carry white text at AA contrast. */
const iris: MantineColorsTuple = [
  "#f1efff",
  "#dfdbfb",
  "#bdb5f1",
  "#998de9",
  "#7a6be2",
  "#6755de",
  "#5a46d6",
  "#4c3bcf",
  "#3e2fad",
  "#2f2387",
];

export const theme = createTheme({
  primaryColor: "iris",
  primaryShade: { light: 7, dark: 6 },
  colors: { iris },
  autoContrast: true,
  respectReducedMotion: true,
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace",
  headings: { fontWeight: "650" },
  cursorType: "pointer",
  components: {
    // The header of a modal is not the page's banner landmark.
    ModalHeader: { defaultProps: { role: "presentation" } },
    DrawerHeader: { defaultProps: { role: "presentation" } },
    ModalCloseButton: { defaultProps: { "aria-label": "Close" } },
    DrawerCloseButton: { defaultProps: { "aria-label": "Close" } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } } },
    // axe reports the placeholder, because it is not a menu item.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
});

/** Replaces the library's shades that are below AA contrast (4.5). */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--focus-ring": "var(--mantine-color-iris-7)",
    "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
    "--mantine-color-error": "var(--mantine-color-red-9)",
  },
  dark: {
    "--focus-ring": "var(--mantine-color-iris-3)",
    "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
    "--mantine-color-error": "var(--mantine-color-red-4)",
    "--mantine-color-anchor": "var(--mantine-color-iris-3)",
    "--mantine-color-disabled": "var(--mantine-color-dark-5)", // the library's own shade is that of a card
  },
});

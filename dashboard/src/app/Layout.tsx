import { AppShell, Burger, Container, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Suspense, useEffect, useRef } from "react";
import { Link, Outlet, useLocation } from "react-router";
import { Brand } from "../ui/Brand.tsx";
import { CrashBoundary } from "./CrashBoundary.tsx";
import { Navigation } from "./Navigation.tsx";
import { PersonMenu } from "./PersonMenu.tsx";
import { ServiceBanner } from "./ServiceBanner.tsx";

/** Header, navigation and the page. On a phone the navigation folds away. */
export function Layout() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(pathname);

  // Whoever reads by ear or moves by keyboard starts at the top of the new page.
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    close();
    window.scrollTo(0, 0);
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) main.current?.focus();
  }, [pathname, close]);

  return (
    <AppShell
      header={{ height: 60 }}
      navbar={{ width: 240, breakpoint: "sm", collapsed: { desktop: true, mobile: !isOpen } }}
    >
      <button type="button" className="skip-link" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <AppShell.Header>
        <Container size="lg" h="100%">
          <Group h="100%" justify="space-between" wrap="nowrap">
            <Group gap="lg" wrap="nowrap">
              <Burger
                opened={isOpen}
                onClick={toggle}
                hiddenFrom="sm"
                size="sm"
                aria-expanded={isOpen}
                aria-label={isOpen ? "Close the navigation" : "Open the navigation"}
              />
              <Link
                to="/projects"
                aria-label="Keyframe, to the projects"
                style={{ color: "inherit", textDecoration: "none" }}
              >
                <Brand />
              </Link>
              <Group component="nav" aria-label="Pages" gap={4} visibleFrom="sm" wrap="nowrap">
                <Navigation />
              </Group>
            </Group>
            <PersonMenu />
          </Group>
        </Container>
      </AppShell.Header>
      {isOpen && ( // folded away, its links must not be met by the Tab key
        <AppShell.Navbar p="md" aria-label="Pages" hiddenFrom="sm">
          <Navigation />
        </AppShell.Navbar>
      )}
      <AppShell.Main ref={main} tabIndex={-1} style={{ outline: "none" }}>
        <Container size="lg" py="lg">
          <ServiceBanner />
          <CrashBoundary key={pathname}>
            <Suspense>
              <Outlet />
            </Suspense>
          </CrashBoundary>
        </Container>
      </AppShell.Main>
    </AppShell>
  );
}

import { Box, Burger, Container, Group, NavLink as MantineNavLink } from "@mantine/core";
import { useDidUpdate, useDisclosure } from "@mantine/hooks";
import { skipToken, useQuery } from "@tanstack/react-query";
import { Suspense, useRef } from "react";
import { Link, NavigationType, Outlet, useLocation, useNavigationType } from "react-router";
import type { Project } from "../../../client/index.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { Brand } from "../ui/Brand.tsx";
import { IconChartBar, IconKey, IconMovie, IconPhoto, IconUsers, IconWebhook } from "../ui/Icons.tsx";
import { CrashBoundary } from "./CrashBoundary.tsx";
import classes from "./layout.module.css";
import { PersonMenu } from "./PersonMenu.tsx";
import { ServiceBanner } from "./ServiceBanner.tsx";

export function Layout() {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { pathname } = useLocation();
  const isBack = useNavigationType() === NavigationType.Pop;
  const main = useRef<HTMLElement>(null);

  // Screen readers and keyboards start at the top of the new page.
  useDidUpdate(() => {
    close();
    if (!isBack) window.scrollTo(0, 0); // the browser restores the position itself
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) main.current?.focus();
  }, [pathname]);

  return (
    <>
      <button type="button" className="skip-link" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header className={classes.header}>
        <Container size="lg" h="100%">
          <Group h="100%" justify="space-between" wrap="nowrap">
            <Group gap="lg" wrap="nowrap">
              <Burger
                opened={isOpen}
                onClick={toggle}
                hiddenFrom="md"
                size="sm"
                aria-expanded={isOpen}
                aria-label={isOpen ? "Close navigation" : "Open navigation"}
              />
              <Link to="/projects" aria-label="Keyframe, projects" style={{ color: "inherit", textDecoration: "none" }}>
                <Brand />
              </Link>
              <Group component="nav" aria-label="Pages" gap={4} visibleFrom="md" wrap="nowrap">
                <Navigation />
              </Group>
            </Group>
            <PersonMenu />
          </Group>
        </Container>
      </header>
      {isOpen && ( // Tab must not reach the links of a closed menu
        <Box component="nav" className={classes.menu} p="md" aria-label="Pages" hiddenFrom="md">
          <Navigation />
        </Box>
      )}
      <main ref={main} tabIndex={-1} className={classes.main}>
        <Container size="lg" py="lg">
          <ServiceBanner />
          <CrashBoundary key={pathname}>
            <Suspense>
              <Outlet />
            </Suspense>
          </CrashBoundary>
        </Container>
      </main>
    </>
  );
}

const PAGES = [
  { to: "/projects", label: "Projects", Icon: IconPhoto },
  { to: "/films", label: "Films", Icon: IconMovie },
  { to: "/elements", label: "Elements", Icon: IconUsers },
  { to: "/webhooks", label: "Webhooks", Icon: IconWebhook },
  { to: "/keys", label: "Keys", Icon: IconKey },
  { to: "/usage", label: "Usage", Icon: IconChartBar },
];

function Navigation() {
  const { pathname } = useLocation();
  const projectId = /^\/projects\/([^/]+)/.exec(pathname)?.[1] ?? "";
  // The project's page reads the project. The navigation only looks into the cache.
  const project = useQuery<Project>({ queryKey: queryKeys.project(projectId), queryFn: skipToken }).data;
  return PAGES.map(({ to, label, Icon }) => {
    const ofProject = project && (project.filmId === null ? "/projects" : "/films");
    const isHere = projectId === "" ? pathname === to || pathname.startsWith(`${to}/`) : to === ofProject;
    return (
      <MantineNavLink
        key={to}
        component={Link}
        to={to}
        label={label}
        active={isHere}
        aria-current={isHere ? "page" : undefined}
        leftSection={<Icon size={18} stroke={1.6} />}
        style={{ borderRadius: "var(--mantine-radius-md)" }}
      />
    );
  });
}

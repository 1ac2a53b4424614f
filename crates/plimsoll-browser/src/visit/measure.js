(() => {
  // What was observed before this observer was made comes at once.
  const entries = (type) => {
    const observer = new PerformanceObserver(() => {});
    observer.observe({ type, buffered: true });
    const taken = observer.takeRecords();
    observer.disconnect();
    return taken;
  };
  let nodes = 0;
  const count = (root) => {
    for (const element of root.querySelectorAll('*')) {
      nodes += 1;
      if (element.shadowRoot) count(element.shadowRoot);
    }
  };
  count(document);
  const [navigation] = performance.getEntriesByType('navigation');
  const [painted] = performance.getEntriesByName('first-contentful-paint');
  return {
    now: performance.now(),
    nodes,
    load_start: navigation?.loadEventStart,
    load: navigation?.loadEventEnd,
    first_contentful_paint: painted?.startTime,
    largest_contentful_paint: entries('largest-contentful-paint').at(-1)?.startTime,
    long_tasks: entries('longtask').map((task) => [task.startTime, task.startTime + task.duration]),
    // Of the page itself: frames have entries of their own. What follows an input was expected.
    layout_shifts: entries('layout-shift').filter((shift) => !shift.hadRecentInput).map((shift) => [shift.startTime, shift.value]),
  };
})()

"""The web page: its server, a real browser, and many streams, for the topic `page`."""
